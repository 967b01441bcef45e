import { isCredentialHeader } from '../idempotency/http/http-reply.ts';
import type { KeptReply, RunEnd } from '../idempotency/idempotency-store.ts';
import type { MetadataLike, StatusLike } from './grpc-types.ts';

/** How a call ended, as it is kept beside the bytes of its message. */
interface Head {
  readonly code: number;
  readonly details: string;
  /** Metadata of the status, such as the details of an error, without credentials. Bytes are base64 in a list of one. */
  readonly trailers?: readonly (readonly [name: string, value: string | readonly [base64: string]])[];
  /** The message was too large to be kept. */
  readonly cut?: true;
}

/** A call that can be answered again. */
export interface KeptCall {
  readonly status: StatusLike;
  readonly body: Uint8Array | undefined;
}

const OK = 0;

/** The end of a run whose call ended with this status and message. */
export function finished(status: StatusLike, body: Uint8Array | undefined, maxBytes: number): RunEnd {
  const { code, details } = status;
  const trailers = trailersOf(status.metadata);
  const isCut = body !== undefined && body.length > maxBytes;
  const head: Head = {
    code,
    details,
    ...(trailers.length > 0 ? { trailers } : {}),
    ...(isCut ? { cut: true } : {}),
  };
  const reply = { head: JSON.stringify(head), body: isCut ? undefined : body };
  return { kind: 'finish', status: code === OK ? 'completed' : 'failed', reply };
}

/** The call as it was kept; `undefined` when its message was too large for that. */
export function keptCall({ head, body }: KeptReply, newMetadata: () => MetadataLike): KeptCall | undefined {
  const { code, details, trailers = [], cut } = JSON.parse(head) as Head;
  if (cut === true) return undefined;
  const metadata = trailers.length > 0 ? newMetadata() : null;
  for (const [name, value] of trailers) {
    metadata?.add(name, (typeof value === 'string' ? value : Buffer.from(value[0], 'base64')) as never);
  }
  return { status: { code, details, metadata }, body };
}

function trailersOf(metadata: MetadataLike | null | undefined): NonNullable<Head['trailers']> {
  return Object.entries(metadata?.toJSON() ?? {})
    .filter(([name]) => !isCredentialHeader(name.toLowerCase()))
    .flatMap(([name, values]) =>
      values.map(
        (value) =>
          [name, typeof value === 'string' ? value : ([Buffer.from(value).toString('base64')] as const)] as const,
      ),
    );
}
