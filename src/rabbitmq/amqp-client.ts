/** A message of amqplib. */
export interface AmqpMessage {
  readonly content: Uint8Array;
  readonly fields: { readonly deliveryTag: number; readonly exchange: string; readonly routingKey: string };
  readonly properties: {
    readonly headers?: Readonly<Record<string, unknown>> | undefined;
    readonly contentType?: string | undefined;
    readonly messageId?: string | undefined;
    readonly type?: string | undefined;
    readonly appId?: string | undefined;
    readonly timestamp?: number | undefined;
  };
}

/** What a message that was sent back is known by. */
type Returned = Pick<AmqpMessage, 'properties'> & {
  readonly fields: { readonly replyText?: string; readonly exchange: string; readonly routingKey: string };
};

/** A channel of amqplib, as far as it is used. */
export interface AmqpChannel {
  on(event: 'error', listener: (error: Error) => void): unknown;
  on(event: 'close', listener: () => void): unknown;
  on(event: 'return', listener: (message: Returned) => void): unknown;
  assertExchange(name: string, type: string, options: object): Promise<unknown>;
  checkExchange(name: string): Promise<unknown>;
  assertQueue(name: string, options: object): Promise<unknown>;
  bindQueue(queue: string, exchange: string, pattern: string): Promise<unknown>;
  prefetch(count: number): Promise<unknown>;
  consume(queue: string, onMessage: (message: AmqpMessage | null) => void): Promise<unknown>;
  ack(message: never, allUpTo?: boolean): void;
  close(): Promise<unknown>;
}

/** A channel on which the broker confirms what it has taken. */
export interface AmqpConfirmChannel extends AmqpChannel {
  publish(
    exchange: string,
    routingKey: string,
    content: never,
    options: object,
    onConfirm: (error: unknown) => void,
  ): boolean;
}

/** A connection of amqplib. */
export interface AmqpConnection {
  on(event: 'error', listener: (error: Error) => void): unknown;
  on(event: 'close', listener: (error?: Error) => void): unknown;
  on(event: 'blocked' | 'unblocked', listener: () => void): unknown;
  createChannel(): Promise<AmqpChannel>;
  createConfirmChannel(): Promise<AmqpConfirmChannel>;
  close(): Promise<unknown>;
  readonly connection?: object | undefined;
}

/** The client library: amqplib, from version 1 on. */
export interface AmqpLibrary {
  connect(address: never, socketOptions?: never): Promise<unknown>;
}

/** Connects. What it takes is passed on to the library as it is. */
export type AmqpConnect = (address: unknown, socketOptions: object) => Promise<AmqpConnection>;

/** The library that was handed in, or the one that is installed beside the application; loaded when it is first needed. */
export function connectBy(library: AmqpLibrary | undefined): AmqpConnect {
  return async (address, socketOptions) => {
    const found = (library ?? (await import('amqplib'))) as unknown as { connect: AmqpConnect };
    return found.connect(address, socketOptions);
  };
}
