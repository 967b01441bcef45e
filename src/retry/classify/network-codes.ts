import { type Rule, rules } from './rule.ts';

/**
 * Codes of Node's sockets, DNS, TLS and HTTP, of undici (so of `fetch`, in the `cause`) and of axios. A name that does
 * not resolve is retried: resolvers answer "not found" while a record is being moved. A pool that was closed or destroyed
 * under a request is retried: `fetch` takes the one that was put in its place.
 */
export const NETWORK_CODES: ReadonlyMap<string, Rule> = new Map([
  ...rules('network', 'retry', [
    'EADDRNOTAVAIL',
    'EAI_AGAIN',
    'EAI_FAIL',
    'EAI_NODATA',
    'ECONNREFUSED',
    'ECONNRESET',
    'EHOSTDOWN',
    'EHOSTUNREACH',
    'ENETDOWN',
    'ENETRESET',
    'ENETUNREACH',
    'ENOBUFS',
    'ENOTCONN',
    'ENOTFOUND',
    'EPIPE',
    'ERR_HTTP2_GOAWAY_SESSION',
    'ERR_HTTP2_SESSION_ERROR',
    'ERR_HTTP2_STREAM_CANCEL',
    'ERR_HTTP2_STREAM_ERROR',
    'ERR_NETWORK',
    'ERR_STREAM_PREMATURE_CLOSE',
    'ESERVFAIL',
    'HPE_INVALID_EOF_STATE',
    'UND_ERR_CLOSED',
    'UND_ERR_DESTROYED',
    'UND_ERR_RES_CONTENT_LENGTH_MISMATCH',
    'UND_ERR_SOCKET',
  ]),
  // An abort that reaches a classifier is not by the signal that was handed to the retry, which ends the operation before.
  // Whose it is cannot be told from the code; mostly it is somebody's timeout, so it counts as one. A caller who aborts by
  // another controller is to pass its signal to the retry.
  ...rules('timeout', 'retry', [
    'ABORT_ERR',
    'ECONNABORTED',
    'ERR_SOCKET_CONNECTION_TIMEOUT',
    'ERR_TLS_HANDSHAKE_TIMEOUT',
    'ESOCKETTIMEDOUT',
    'ETIMEDOUT',
    'ETIMEOUT',
    'UND_ERR_ABORTED',
    'UND_ERR_BODY_TIMEOUT',
    'UND_ERR_CONNECT_TIMEOUT',
    'UND_ERR_HEADERS_TIMEOUT',
  ]),
  // axios says this of an abort by a signal or a token and has other codes for its timeouts: it is the caller's own wish.
  ...rules('unknown', 'fail', ['ERR_CANCELED']),
  // A TLS alert: the wrong port or protocol for ever, or a proxy that restarts in the middle of a handshake.
  ...rules('network', undefined, ['EPROTO']),
  // A certificate does not change between two attempts.
  ...rules('network', 'fail', [
    'CERT_HAS_EXPIRED',
    'CERT_NOT_YET_VALID',
    'CERT_REVOKED',
    'DEPTH_ZERO_SELF_SIGNED_CERT',
    'ERR_SSL_WRONG_VERSION_NUMBER',
    'ERR_TLS_CERT_ALTNAME_INVALID',
    'SELF_SIGNED_CERT_IN_CHAIN',
    'UNABLE_TO_GET_ISSUER_CERT',
    'UNABLE_TO_GET_ISSUER_CERT_LOCALLY',
    'UNABLE_TO_VERIFY_LEAF_SIGNATURE',
  ]),
  ...rules('invalid', 'fail', [
    'ERR_FR_TOO_MANY_REDIRECTS',
    'ERR_INVALID_ARG_TYPE',
    'ERR_INVALID_ARG_VALUE',
    'ERR_INVALID_CHAR',
    'ERR_INVALID_PROTOCOL',
    'ERR_INVALID_URL',
    'ERR_UNESCAPED_CHARACTERS',
    'UND_ERR_HEADERS_OVERFLOW',
    'UND_ERR_INVALID_ARG',
    'UND_ERR_REQ_CONTENT_LENGTH_MISMATCH',
    'UND_ERR_RES_EXCEEDED_MAX_SIZE',
  ]),
]);
