import { newId } from '../system/new-id.ts';
import type { GrpcLike, MetadataLike } from './grpc-types.ts';

/**
 * Gives every unary call of a client a key: `new Orders(address, credentials, { interceptors: [clientInterceptor(grpc)] })`. A call
 * that brings metadata `idempotency-key` keeps it. Retries of gRPC itself send the same key; a call that your code repeats is
 * another call and gets another key, so pass one for those.
 */
export function clientInterceptor<ClientCall>(
  grpc: Pick<GrpcLike<unknown, ClientCall>, 'InterceptingCall'>,
): (
  options: { readonly method_definition: { readonly requestStream: boolean; readonly responseStream: boolean } },
  nextCall: (options: never) => unknown,
) => ClientCall {
  return (options, nextCall) => {
    const { requestStream, responseStream } = options.method_definition;
    const requester = {
      start: (metadata: MetadataLike, listener: unknown, next: (metadata: MetadataLike, listener: unknown) => void) => {
        if (!requestStream && !responseStream && metadata.get('idempotency-key').length === 0) {
          metadata.set('idempotency-key', newId());
        }
        next(metadata, listener);
      },
    };
    return new grpc.InterceptingCall(nextCall(options as never) as never, requester as never);
  };
}
