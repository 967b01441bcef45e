import { describe, expect, test } from 'vitest';
import { HoldfastError } from '../../kernel/error.ts';
import { readError as readThrown } from './read-error.ts';
import { lookAt } from './thrown.ts';

function made(fields: object, name = 'Error'): Error {
  return Object.assign(new Error('text is never looked at'), { name, ...fields });
}

/** An error whose class has a name but whose `name` is left at "Error", as node-redis and openai do it. */
function ofClass(className: string, fields: object = {}, message = 'text'): Error {
  const type = { [className]: class extends Error {} }[className] ?? Error;
  return Object.assign(new type(message), fields);
}

const readError = (error: unknown) => readThrown(lookAt(error));

const RETRY = 'retry';
const FAIL = 'fail';
const OPEN = undefined;

describe('gRPC', () => {
  const grpc = (code: number): Error => made({ code, details: 'd', metadata: { get: () => [] } });

  test.each([
    [1, 'CANCELLED', 'grpc', OPEN],
    [2, 'UNKNOWN', 'grpc', OPEN],
    [3, 'INVALID_ARGUMENT', 'invalid', FAIL],
    [4, 'DEADLINE_EXCEEDED', 'timeout', RETRY],
    [5, 'NOT_FOUND', 'grpc', FAIL],
    [6, 'ALREADY_EXISTS', 'conflict', FAIL],
    [7, 'PERMISSION_DENIED', 'auth', FAIL],
    [8, 'RESOURCE_EXHAUSTED', 'rate-limit', RETRY],
    [9, 'FAILED_PRECONDITION', 'grpc', FAIL],
    [10, 'ABORTED', 'grpc', RETRY],
    [11, 'OUT_OF_RANGE', 'invalid', FAIL],
    [12, 'UNIMPLEMENTED', 'grpc', FAIL],
    [13, 'INTERNAL', 'grpc', OPEN],
    [14, 'UNAVAILABLE', 'grpc', RETRY],
    [15, 'DATA_LOSS', 'grpc', FAIL],
    [16, 'UNAUTHENTICATED', 'auth', FAIL],
  ] as const)('status %d is %s: %s, %s [S0.2]', (code, name, kind, verdict) => {
    expect(readError(grpc(code))).toEqual({ kind, code: name, ...(verdict && { verdict }) });
  });

  test('a small number alone is no gRPC status', () => {
    expect(readError(made({ code: 14 }))).toEqual({ kind: 'unknown' });
    expect(readError(made({ code: 17, details: 'd', metadata: {} }))).toEqual({ kind: 'unknown' });
  });
});

describe('AWS', () => {
  const aws = (name: string, status: number | undefined, more: object = {}): Error =>
    made({ $fault: 'client', $metadata: { httpStatusCode: status, attempts: 1 }, ...more }, name);

  test('throttling is retried although it comes as a 400', () => {
    expect(readError(aws('ThrottlingException', 400))).toMatchObject({
      kind: 'rate-limit',
      verdict: RETRY,
      status: 400,
    });
    expect(readError(aws('SomethingNew', 400, { $retryable: { throttling: true } })).verdict).toBe(RETRY);
  });

  test('what its model calls retryable is retried, the rest goes by status', () => {
    expect(readError(aws('Busy', 400, { $retryable: {} }))).toMatchObject({
      kind: 'http',
      verdict: RETRY,
      code: 'Busy',
    });
    expect(readError(aws('ValidationException', 400))).toMatchObject({ kind: 'invalid', verdict: FAIL, status: 400 });
    expect(readError(aws('InternalServerError', 500))).toMatchObject({ verdict: RETRY, code: 'InternalServerError' });
  });

  test('an AWS error without an answer is read by its code', () => {
    expect(readError(aws('Error', undefined, { code: 'ECONNRESET' }))).toMatchObject({
      kind: 'network',
      verdict: RETRY,
    });
  });
});

describe('Kafka clients', () => {
  test.each([
    [
      'kafkajs protocol error, retriable',
      made({ type: 'LEADER_NOT_AVAILABLE', code: 5, retriable: true }, 'KafkaJSProtocolError'),
      RETRY,
    ],
    [
      'kafkajs protocol error, not retriable',
      made({ type: 'TOPIC_AUTHORIZATION_FAILED', code: 29, retriable: false }, 'KafkaJSProtocolError'),
      OPEN,
    ],
    [
      'kafkajs message too large',
      made({ type: 'MESSAGE_TOO_LARGE', code: 10, retriable: false }, 'KafkaJSProtocolError'),
      FAIL,
    ],
    ['kafkajs connection error', made({ code: 'ECONNREFUSED', retriable: true }, 'KafkaJSConnectionError'), RETRY],
    ['kafkajs request timeout', made({ retriable: true }, 'KafkaJSRequestTimeoutError'), RETRY],
    ['kafkajs wrong password', made({ retriable: false }, 'KafkaJSSASLAuthenticationError'), OPEN],
    ['kafkajs out of retries', made({ retriable: false, retryCount: 5 }, 'KafkaJSNumberOfRetriesExceeded'), OPEN],
    ['platformatic network error', made({ code: 'PLT_KFK_NETWORK', canRetry: true }), RETRY],
    ['platformatic timeout', made({ code: 'PLT_KFK_TIMEOUT', canRetry: false }), RETRY],
    [
      'platformatic retriable protocol error',
      made({ code: 'PLT_KFK_PROTOCOL', apiId: 'NOT_CONTROLLER', apiCode: 41, canRetry: true }),
      RETRY,
    ],
    [
      'platformatic record refused',
      made({ code: 'PLT_KFK_PROTOCOL', apiId: 'INVALID_RECORD', apiCode: 87, canRetry: false }),
      FAIL,
    ],
    ['platformatic user error', made({ code: 'PLT_KFK_USER', canRetry: false }), OPEN],
    [
      'librdkafka transport failure',
      ofClass('LibrdKafkaError', { code: -195, isRetriable: false, isFatal: false }),
      RETRY,
    ],
    ['librdkafka retriable error', ofClass('LibrdKafkaError', { code: 500, isRetriable: true, isFatal: false }), RETRY],
    [
      'librdkafka message too large',
      ofClass('LibrdKafkaError', { code: 10, isRetriable: false, isFatal: false }),
      FAIL,
    ],
    ['librdkafka fatal error', made({ code: -150, isRetriable: false, isFatal: true }), OPEN],
  ])('%s', (_, error, verdict) => {
    expect(readError(error).verdict).toBe(verdict);
    expect(readError(error).kind).not.toBe('unknown');
  });

  test('the code is the name in the protocol where the client tells it', () => {
    expect(readError(made({ type: 'NOT_CONTROLLER', code: 41, retriable: true }, 'KafkaJSProtocolError')).code).toBe(
      'NOT_CONTROLLER',
    );
    expect(readError(made({ code: 'PLT_KFK_PROTOCOL', apiId: 'NOT_CONTROLLER', apiCode: 41 })).code).toBe(
      'NOT_CONTROLLER',
    );
  });
});

describe('what an ORM puts around the error of a client', () => {
  test('does not hide that the statement was refused, nor the SQLSTATE below an error of Prisma [X.14]', () => {
    const refused = { kind: 'invalid', verdict: FAIL, code: 'TRANSACTION_CONTROL' };
    expect(readError(made({ code: 'TRANSACTION_CONTROL' }, 'QueryFailedError'))).toEqual(refused);
    const meta = { driverAdapterError: { cause: { originalCode: '23505' } } };
    const unique = made({ code: 'P2002', meta }, 'PrismaClientKnownRequestError');
    expect(readError(unique)).toEqual({ kind: 'database', verdict: FAIL, code: '23505' });
  });
});

describe('AMQP', () => {
  const amqp = (code: number): Error => made({ code, classId: 60, methodId: 40 });

  test.each([
    [320, 'broker', RETRY],
    [504, 'broker', RETRY],
    [506, 'broker', RETRY],
    [541, 'broker', RETRY],
    [311, 'invalid', FAIL],
    [403, 'auth', OPEN],
    [404, 'broker', OPEN],
    [406, 'broker', OPEN],
  ] as const)('reply code %d of a closed channel: %s, %s', (code, kind, verdict) => {
    expect(readError(amqp(code))).toEqual({ kind, code: String(code), ...(verdict && { verdict }) });
  });

  test('a closed connection brings the code alone, and a call on a closed channel a class of its own', () => {
    expect(readError(made({ code: 320 }))).toEqual({ kind: 'broker', verdict: RETRY, code: '320' });
    expect(readError(made({ stackAtStateChange: '' }, 'IllegalOperationError')).verdict).toBe(RETRY);
    expect(readError(made({ code: 404 })).kind).toBe('unknown');
  });
});

describe('Redis', () => {
  test.each([
    ["READONLY You can't write against a read only replica.", 'READONLY', 'database', RETRY],
    ['LOADING Redis is loading the dataset in memory', 'LOADING', 'database', RETRY],
    ['CLUSTERDOWN The cluster is down', 'CLUSTERDOWN', 'database', RETRY],
    ['TRYAGAIN Multiple keys request during rehashing of slot', 'TRYAGAIN', 'database', RETRY],
    ["OOM command not allowed when used memory > 'maxmemory'.", 'OOM', 'database', RETRY],
    ['WRONGTYPE Operation against a key holding the wrong kind of value', 'WRONGTYPE', 'invalid', FAIL],
    ['BUSYGROUP Consumer Group name already exists', 'BUSYGROUP', 'conflict', FAIL],
    ['NOAUTH Authentication required.', 'NOAUTH', 'auth', OPEN],
    ['ERR unknown command', 'ERR', 'database', OPEN],
  ] as const)('the code in front of the reply %j is %s: %s, %s', (message, code, kind, verdict) => {
    for (const reply of [
      Object.assign(new Error(message), { name: 'ReplyError' }),
      ofClass('SimpleError', {}, message),
    ]) {
      expect(readError(reply)).toEqual({ kind, code, ...(verdict && { verdict }) });
    }
  });

  test('only a server reply is read that way', () => {
    expect(readError(new Error('LOADING the shop')).kind).toBe('unknown');
    expect(readError(ofClass('SimpleError', {}, 'no code in front'))).toEqual({ kind: 'database' });
  });

  test('lost connections are known by the class of the error', () => {
    for (const name of ['SocketClosedUnexpectedlyError', 'ClientOfflineError', 'DisconnectsClientError']) {
      expect(readError(ofClass(name))).toEqual({ kind: 'network', verdict: RETRY, code: name });
    }
    expect(readError(ofClass('ConnectionTimeoutError')).kind).toBe('timeout');
    expect(readError(made({ command: { name: 'get', args: ['k'] } }, 'AbortError'))).toEqual({
      kind: 'network',
      verdict: RETRY,
      code: 'AbortError',
    });
    expect(readError(ofClass('MaxRetriesPerRequestError'))).toMatchObject({ kind: 'network', likelyTransient: true });
    expect(readError(ofClass('ClientClosedError')).kind).toBe('unknown');
  });
});

describe('SQL', () => {
  test('a SQLSTATE is told from a Node code of five letters', () => {
    expect(readError(made({ code: 'EPIPE' }))).toEqual({ kind: 'network', verdict: RETRY, code: 'EPIPE' });
    expect(readError(made({ code: 'P0001', severity: 'ERROR' }))).toEqual({ kind: 'database', code: 'P0001' });
    expect(readError(made({ code: 'P0001' })).kind).toBe('unknown');
    expect(readError(made({ code: '40001' })).verdict).toBe(RETRY);
  });

  test('a client with names of its own is read by its sqlState', () => {
    expect(readError(made({ code: 'ER_DUP_ENTRY', sqlState: '23000' }))).toEqual({
      kind: 'database',
      verdict: FAIL,
      code: '23000',
    });
    expect(readError(made({ code: 'ER_LOCK_DEADLOCK', sqlState: '40001' })).verdict).toBe(RETRY);
  });
});

describe('HTTP clients', () => {
  test('an answer is known by its status, never by an exit code or a status below 300', () => {
    expect(readError(made({ code: 'ERR_BAD_RESPONSE', response: { status: 503, data: {} } }))).toMatchObject({
      verdict: RETRY,
      status: 503,
    });
    expect(readError(made({ response: { statusCode: 404 } }))).toMatchObject({ verdict: FAIL, status: 404 });
    expect(readError(made({ status: 137 })).kind).toBe('unknown');
    expect(readError(made({ status: '503' })).kind).toBe('unknown');
    expect(readError(made({ status: 503.5 })).kind).toBe('unknown');
  });

  test('an SDK’s own "retryable" is advice: it does not overrule a status', () => {
    expect(readError(made({ statusCode: 409, isRetryable: true }))).toMatchObject({ kind: 'conflict', verdict: FAIL });
    expect(readError(made({ statusCode: 599, isRetryable: true }))).toMatchObject({
      kind: 'http',
      likelyTransient: true,
    });
    expect(readError(made({ statusCode: 599, isRetryable: true }))).not.toHaveProperty('verdict');
  });

  test('a certificate that does not verify is not tried again', () => {
    for (const code of [
      'CERT_HAS_EXPIRED',
      'CERT_NOT_YET_VALID',
      'CERT_REVOKED',
      'ERR_TLS_CERT_ALTNAME_INVALID',
      'DEPTH_ZERO_SELF_SIGNED_CERT',
      'UNABLE_TO_GET_ISSUER_CERT',
    ]) {
      expect(readError(made({ code }))).toEqual({ kind: 'network', verdict: FAIL, code });
    }
  });

  test.each([
    ['network', 'ESERVFAIL'],
    ['network', 'UND_ERR_CLOSED'],
    ['network', 'UND_ERR_DESTROYED'],
    ['timeout', 'ERR_SOCKET_CONNECTION_TIMEOUT'],
    ['timeout', 'ERR_TLS_HANDSHAKE_TIMEOUT'],
    ['timeout', 'ETIMEOUT'],
  ])('a passing %s failure of the resolver, the socket or the pool is tried again: %s', (kind, code) => {
    expect(readError(made({ code }))).toEqual({ kind, verdict: RETRY, code });
  });

  test('a TLS alert is a known kind without a verdict: it may be a restart or the wrong port', () => {
    expect(readError(made({ code: 'EPROTO' }))).toEqual({ kind: 'network', code: 'EPROTO' });
  });

  test('an abort that a client tells apart from its own timeouts is somebody’s wish and not tried again', () => {
    expect(readError(made({ name: 'CanceledError', code: 'ERR_CANCELED' }))).toEqual({
      kind: 'unknown',
      verdict: FAIL,
      code: 'ERR_CANCELED',
    });
    expect(readError(made({ name: 'APIUserAbortError' }))).toMatchObject({ kind: 'unknown', verdict: FAIL });
    expect(readError(made({ name: 'APIConnectionTimeoutError' }))).toMatchObject({ kind: 'timeout', verdict: RETRY });
    expect(readError(new DOMException('aborted', 'AbortError'))).toMatchObject({
      kind: 'timeout',
      verdict: RETRY,
    });
  });
});

describe('our own errors', () => {
  test('each has a rule', () => {
    expect(readError(new HoldfastError('DEADLINE_PASSED', { operation: 'o', attempt: 1 }))).toMatchObject({
      kind: 'timeout',
      verdict: FAIL,
    });
    expect(readError(new HoldfastError('BAD_IDEMPOTENCY_KEY', { problem: 'p' }))).toMatchObject({
      kind: 'invalid',
      verdict: FAIL,
    });
    const answered = { operation: 'o', method: 'GET', url: 'u', status: 503, requestId: 'r' };
    expect(readError(new HoldfastError('HTTP_STATUS', answered))).toEqual({
      kind: 'overload',
      verdict: RETRY,
      status: 503,
      code: 'HTTP_STATUS',
    });
  });

  test('a code of a newer copy of the package is unknown and not a crash', () => {
    const newer = new HoldfastError('BAD_IDEMPOTENCY_KEY', { problem: 'p' });
    Object.defineProperty(newer, 'code', { value: 'toString' });
    expect(readError(newer)).toEqual({ kind: 'unknown', code: 'toString' });
  });
});
