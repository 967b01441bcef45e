import { OptionCheck } from '../kernel/check-options.ts';
import { HoldfastError } from '../kernel/error.ts';
import { sha256 } from '../system/sha256.ts';
import type { OpenRun, RunFacts } from '../idempotency/entry.ts';
import { missedFormat, readKeyHeader } from '../idempotency/http/key-header.ts';
import type { Idempotency } from '../idempotency/idempotency.ts';
import { checkTimes } from '../idempotency/check-idempotency-options.ts';
import { knownPerson } from '../idempotency/known-person.ts';
import type {
  GrpcLike,
  MetadataLike,
  MethodLike,
  ResponderLike,
  ServerCallLike,
  ServiceLike,
  StatusLike,
} from './grpc-types.ts';
import { finished, type KeptCall, keptCall } from './kept-call.ts';
import { guardFailed, keyRefused, PERSON_UNKNOWN, type Refusal, refusalOf } from './status-of.ts';

/** How unary calls of a server are guarded. */
export interface ServerInterceptorOptions {
  /** The services to guard: `[Orders.service]`. Calls to others pass. */
  readonly services: readonly ServiceLike[];
  /**
   * Who calls, so that nobody is ever answered with somebody else's reply; `'anyone'` where the key alone may say it. `''`, `null`
   * and nothing end the call with UNAUTHENTICATED. What it throws ends the call: `{ code, details }` as it says, anything else with
   * INTERNAL.
   */
  readonly person: ((metadata: MetadataLike, path: string) => string) | 'anyone';
  /** Paths that are guarded, `/shop.Orders/Place`. Default: all unary methods of the services. */
  readonly methods?: readonly string[] | undefined;
  /** Whether a call without a key is refused or passed on unguarded. Default `true`. */
  readonly required?: boolean | undefined;
  /** What a key must look like, as for HTTP routes. Default: anything of 1 to 255 visible ASCII characters. */
  readonly keyFormat?: 'uuid-v4' | RegExp | undefined;
  /** As for HTTP routes. */
  readonly waitMs?: number | undefined;
  readonly leaseMs?: number | undefined;
  readonly keepMs?: number | undefined;
  readonly maxRunMs?: number | undefined;
  readonly whenStoreDown?: 'refuse' | 'run' | undefined;
  readonly unknown?: 'refuse' | 'rerun' | undefined;
  /** What to do with the end of a call. Default: keep it, errors too. One that throws leaves the run in doubt. */
  readonly keep?: ((status: StatusLike) => 'keep' | 'release' | 'doubt') | undefined;
  /** The largest message that is kept, in bytes. Default: a mebibyte. A larger one is sent, and a repetition is told that it is not kept. */
  readonly maxReplyBytes?: number | undefined;
}

/** What a handler may use of its run. */
export interface CallRun<Tx> extends RunFacts {
  /** Runs `work` in a transaction. What it writes and the reply it answers are committed together; then answer that reply. */
  commit<Reply>(work: (tx: Tx) => Promise<Reply>): Promise<Reply>;
}

const OK = 0;
const INTERNAL = 13;
const MEBIBYTE = 1_048_576;
const runs = new WeakMap<object, CallRun<unknown>>();

/** The run of a call: `runOf(call.metadata)`. Throws `IDEMPOTENCY_NO_RUN` where the method is not guarded. */
export function runOf<Tx = unknown>(metadata: object): CallRun<Tx> {
  const run = runs.get(metadata);
  if (run === undefined) throw new HoldfastError('IDEMPOTENCY_NO_RUN', {});
  return run as CallRun<Tx>;
}

/**
 * Guards the unary methods of a server: `new grpc.Server({ interceptors: [serverInterceptor(grpc, idem, options)] })`. The key travels
 * as metadata `idempotency-key`. A method runs once for each key; a repetition gets the same message and status, and metadata
 * `idempotent-replayed: true`.
 */
export function serverInterceptor<Tx, ServerCall>(
  grpc: Pick<GrpcLike<ServerCall, unknown>, 'Metadata' | 'ServerInterceptingCall'>,
  idempotency: Idempotency<Tx>,
  options: ServerInterceptorOptions,
): (descriptor: { readonly path: string }, call: ServerCallLike) => ServerCall {
  const guarded = guardedMethods(options);
  return (descriptor, call) => {
    const method = guarded.get(descriptor.path);
    const responder =
      method && new GuardedCall(idempotency, options, method, call, () => new grpc.Metadata()).responder();
    return new grpc.ServerInterceptingCall(call as never, responder as never);
  };
}

/** One call on its way through the server. */
class GuardedCall<Tx> {
  readonly #idempotency: Idempotency<Tx>;
  readonly #options: ServerInterceptorOptions;
  readonly #method: MethodLike;
  readonly #call: ServerCallLike;
  readonly #newMetadata: () => MetadataLike;
  #metadata: MetadataLike | undefined;
  #message: unknown;
  #run: OpenRun<Tx> | undefined;
  /** Aborted when its client has cancelled it, or its deadline has passed: then gRPC does not call the handler any more. */
  readonly #gone = new AbortController();
  #isCommitted = false;
  #body: Uint8Array | undefined;

  constructor(
    idempotency: Idempotency<Tx>,
    options: ServerInterceptorOptions,
    method: MethodLike,
    call: ServerCallLike,
    newMetadata: () => MetadataLike,
  ) {
    this.#idempotency = idempotency;
    this.#options = options;
    this.#method = method;
    this.#call = call;
    this.#newMetadata = newMetadata;
  }

  responder(): ResponderLike {
    return {
      start: (next) =>
        next({
          onReceiveMetadata: (metadata, pass) => pass((this.#metadata = metadata)),
          onReceiveMessage: (message, pass) => pass((this.#message = message)),
          // The handler is called when the client has said everything.
          onReceiveHalfClose: (pass) => void this.#admitOr(pass),
          onCancel: () => this.#gone.abort(),
        }),
      sendMessage: (message, next) => {
        try {
          this.#body = this.#method.responseSerialize(message as never);
        } catch {
          // Who sends it fails in the same way, and says so; nobody above is asked again then.
          return void this.#pass({ code: INTERNAL, details: 'Error serializing response' }, () => next(message));
        }
        // Not before the run has ended: whoever has a reply may rely on it.
        void this.#pass({ code: OK, details: 'OK' }, () => next(message));
      },
      sendStatus: (status, next) => {
        if (status.code === OK && this.#body !== undefined) next(status);
        else void this.#pass(status, () => next(status));
      },
    };
  }

  /** Ends the run, then lets the reply through, or says why it is not the reply. */
  async #pass(status: StatusLike, send: () => void): Promise<void> {
    const refusal = await this.#end(status);
    if (refusal === undefined) send();
    else this.#refuse(refusal);
  }

  /** What the route's own functions throw must end this call, and not the process. */
  async #admitOr(pass: () => void): Promise<void> {
    try {
      await this.#admit(pass);
    } catch (error) {
      this.#refuse(guardFailed(error));
    }
  }

  async #admit(pass: () => void): Promise<void> {
    const metadata = this.#metadata;
    if (metadata === undefined) return pass();
    const {
      required = true,
      person,
      services: _services,
      methods: _methods,
      keep: _keep,
      maxReplyBytes: _maxReplyBytes,
      keyFormat,
      unknown,
      ...rest
    } = this.#options;
    const key = readKeyHeader(metadata.get('idempotency-key').map(String));
    if (key.kind === 'missing') return required ? this.#refuse(keyRefused('key-missing', 'is missing')) : pass();
    if (key.kind === 'invalid') return this.#refuse(keyRefused('key-invalid', `cannot be used: ${key.problem}`));
    const wanted = missedFormat(key.key, keyFormat, 'server');
    if (wanted !== undefined) return this.#refuse(keyRefused('key-invalid', `must be ${wanted}`));
    const { path } = this.#method;
    const who = person === 'anyone' ? null : knownPerson('serverInterceptor()', person(metadata, path));
    if (who === undefined) return this.#refuse(PERSON_UNKNOWN);
    const entry = await this.#idempotency.enter({
      ...rest,
      domain: path,
      key: key.key,
      person: who,
      fingerprint: `1.${sha256(this.#method.requestSerialize(this.#message as never))}`,
      unknown: unknown === 'rerun' ? 'take' : 'tell',
      signal: this.#gone.signal,
    });
    if (entry.kind === 'unguarded') return pass();
    if (entry.kind !== 'run') {
      const kept = entry.kind === 'finished' && entry.reply !== null && keptCall(entry.reply, this.#newMetadata);
      return kept ? this.#replay(kept) : this.#refuse(refusalOf(entry));
    }
    // Nothing was done, and nothing will be: the next call with this key runs.
    if (this.#gone.signal.aborted)
      return void (await entry.run.end({ kind: entry.run.number === 1 ? 'release' : 'doubt' }));
    this.#run = entry.run;
    runs.set(metadata, this.#callRun(entry.run));
    pass();
  }

  #callRun(run: OpenRun<Tx>): CallRun<Tx> {
    return {
      number: run.number,
      signal: run.signal,
      childKey: (step) => run.childKey(step),
      commit: async (work) => {
        const reply = await run.commit(async (tx) => {
          const value = await work(tx);
          const body = this.#method.responseSerialize(value as never);
          return { value, end: finished({ code: OK, details: 'OK' }, body, this.#maxBytes()) };
        });
        this.#isCommitted = true;
        return reply;
      },
    };
  }

  /** Ends the run. Answers how to end the call instead, when another run has taken over. */
  async #end(status: StatusLike): Promise<Refusal | undefined> {
    if (this.#run === undefined || this.#isCommitted) return undefined;
    const verdict = this.#verdict(status);
    const kept = finished(status, this.#body, this.#maxBytes());
    const ended = await this.#run.end(verdict === 'keep' ? kept : { kind: verdict });
    return ended === 'late' ? refusalOf({ kind: 'running', leaseLeftMs: 1 }) : undefined;
  }

  #verdict(status: StatusLike): 'keep' | 'release' | 'doubt' {
    try {
      const verdict = this.#options.keep?.(status) ?? 'keep';
      return ['keep', 'release'].includes(verdict) ? verdict : 'doubt';
    } catch {
      return 'doubt';
    }
  }

  #maxBytes(): number {
    return this.#options.maxReplyBytes ?? MEBIBYTE;
  }

  #replay({ status, body }: KeptCall): void {
    const metadata = this.#newMetadata();
    metadata.set('idempotent-replayed', 'true');
    this.#call.sendMetadata(metadata);
    if (body === undefined) return this.#call.sendStatus(status);
    const message = this.#method.responseDeserialize(toBuffer(body) as never);
    this.#call.sendMessage(message, () => this.#call.sendStatus(status));
  }

  #refuse({ code, details, problem }: Refusal): void {
    const metadata = this.#newMetadata();
    metadata.set('idempotency-problem', problem);
    this.#call.sendStatus({ code, details, metadata });
  }
}

/** What protobuf's generated code takes. */
function toBuffer(bytes: Uint8Array): Uint8Array {
  return Buffer.from(bytes.buffer, bytes.byteOffset, bytes.byteLength);
}

const FIELDS = [
  'services',
  'person',
  'methods',
  'required',
  'keyFormat',
  'waitMs',
  'leaseMs',
  'keepMs',
  'maxRunMs',
  'whenStoreDown',
  'unknown',
  'keep',
  'maxReplyBytes',
] as const;

function checkOptions(check: OptionCheck, options: ServerInterceptorOptions): void {
  check.known(options, FIELDS);
  const { keyFormat, whenStoreDown, unknown, keep, maxReplyBytes } = options;
  checkTimes(check, options, ['waitMs', 'leaseMs', 'keepMs', 'maxRunMs']);
  if (keyFormat !== undefined && !(keyFormat instanceof RegExp)) check.word('keyFormat', keyFormat, ['uuid-v4']);
  if (whenStoreDown !== undefined) check.word('whenStoreDown', whenStoreDown, ['refuse', 'run']);
  if (unknown !== undefined) check.word('unknown', unknown, ['refuse', 'rerun']);
  if (keep !== undefined && typeof keep !== 'function') check.refuse('keep', keep, 'pass a function');
  if (maxReplyBytes !== undefined)
    check.number('maxReplyBytes', maxReplyBytes, { min: 0, integer: true, write: 'write a whole number from 0' });
}

function guardedMethods(options: ServerInterceptorOptions): Map<string, MethodLike> {
  const check = new OptionCheck('serverInterceptor()');
  if (!check.object('options', options, 'pass { services: [Orders.service], person: (metadata) => … }')) check.done();
  checkOptions(check, options);
  const { services, methods, person } = options;
  if (!Array.isArray(services) || services.length === 0) check.refuse('services', services, 'pass [Orders.service]');
  if (typeof person !== 'function' && person !== 'anyone')
    check.refuse('person', person, "pass (metadata) => …, or 'anyone' where the key alone may say it");
  const unary = (Array.isArray(services) ? services : [])
    .flatMap((service: ServiceLike) => Object.values(service))
    .filter((method) => !method.requestStream && !method.responseStream);
  const found = new Map(unary.map((method) => [method.path, method]));
  for (const path of methods ?? []) {
    if (!found.has(path))
      check.refuse('methods', path, `name unary methods of the services: ${[...found.keys()].join(', ')}`);
  }
  check.done();
  return methods === undefined ? found : new Map([...found].filter(([path]) => methods.includes(path)));
}
