/** What is used of `Metadata` of @grpc/grpc-js. */
export interface MetadataLike {
  get(key: string): (string | Uint8Array)[];
  set(key: string, value: string): void;
  /** A text or a Buffer, whose type is not there for everybody who reads these. */
  add(key: string, value: never): void;
  toJSON(): Readonly<Record<string, readonly (string | Uint8Array)[]>>;
}

/** How a call ends. */
export interface StatusLike {
  readonly code: number;
  readonly details: string;
  readonly metadata?: MetadataLike | null | undefined;
}

/** A method of a service definition. */
export interface MethodLike {
  readonly path: string;
  readonly requestStream: boolean;
  readonly responseStream: boolean;
  requestSerialize(value: never): Uint8Array;
  responseSerialize(value: never): Uint8Array;
  responseDeserialize(bytes: never): unknown;
}

/** A service definition, as a generated file or `loadPackageDefinition` has it: `Orders.service`. */
export type ServiceLike = Readonly<Record<string, MethodLike>>;

interface ListenerLike {
  onReceiveMetadata?(metadata: MetadataLike, next: (metadata: MetadataLike) => void): void;
  onReceiveMessage?(message: unknown, next: (message: unknown) => void): void;
  onReceiveHalfClose?(next: () => void): void;
  onCancel?(): void;
}

export interface ResponderLike {
  start?(next: (listener?: ListenerLike) => void): void;
  sendMetadata?(metadata: MetadataLike, next: (metadata: MetadataLike) => void): void;
  sendMessage?(message: unknown, next: (message: unknown) => void): void;
  sendStatus?(status: StatusLike, next: (status: StatusLike) => void): void;
}

/** The call below an interceptor of a server. */
export interface ServerCallLike {
  sendMetadata(metadata: MetadataLike): void;
  sendMessage(message: unknown, callback: () => void): void;
  sendStatus(status: StatusLike): void;
}

/** What is used of the package, handed in by the user: `import * as grpc from '@grpc/grpc-js'`. */
export interface GrpcLike<ServerCall, ClientCall> {
  readonly Metadata: new () => MetadataLike;
  readonly ServerInterceptingCall: new (call: never, responder?: never) => ServerCall;
  readonly InterceptingCall: new (call: never, requester?: never) => ClientCall;
}
