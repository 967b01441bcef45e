import type { MethodDefinition } from '@grpc/grpc-js';

const json = {
  serialize: (value: object): Buffer => Buffer.from(JSON.stringify(value)),
  deserialize: (bytes: Buffer): object => JSON.parse(bytes.toString()) as object,
};

function method(path: string, stream = false): MethodDefinition<object, object> {
  return {
    path,
    requestStream: false,
    responseStream: stream,
    requestSerialize: json.serialize,
    requestDeserialize: json.deserialize,
    responseSerialize: json.serialize,
    responseDeserialize: json.deserialize,
  };
}

/** A service of gRPC, with messages of JSON. */
export const SERVICE: Readonly<Record<'place' | 'list', MethodDefinition<object, object>>> = {
  place: method('/shop.Orders/Place'),
  list: method('/shop.Orders/List', true),
};
