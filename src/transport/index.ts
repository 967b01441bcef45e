export type {
  Broker,
  ConsumeRequest,
  Consumption,
  Decode,
  Decoded,
  InboundMessage,
  OutboundMessage,
  PublishResult,
  WireMessage,
} from './broker.ts';
export type { HeldKeys, KeyLock } from './key-lock.ts';
export { transportOf } from './transport-of.ts';
export type { Receiving, Transport, TransportHandler, TransportHost } from './transport.ts';
export type { KeptMessage } from './kept-message.ts';
