import { type AnySchema, flag, list, objectOf, oneOf, optional, text } from './schema.ts';

/** A route that is no function of the operator, as the OpenAPI document shows it. */
export interface PlainRoute {
  readonly id: string;
  readonly method: 'get' | 'post' | 'delete';
  readonly path: string;
  readonly summary: string;
  /** Anybody may ask. */
  readonly isOpen?: boolean;
  readonly body?: AnySchema;
  /** Of JSON; absent: it is none. */
  readonly answer?: AnySchema;
  readonly type: string;
}

const JSON_TYPE = 'application/json';

const SESSION: AnySchema = objectOf({
  actor: text,
  role: oneOf('viewer', 'operator', 'admin'),
  csrf: optional(text),
  version: text,
  isReadOnly: flag,
  isDelivering: flag,
});

export const PLAIN_ROUTES: readonly PlainRoute[] = [
  {
    id: 'showSession',
    method: 'get',
    path: '/api/session',
    summary: 'Who you are, and what to send as x-holdfast-csrf with each write.',
    answer: SESSION,
    type: JSON_TYPE,
  },
  {
    id: 'login',
    method: 'post',
    path: '/api/session',
    summary: 'Begins a session with a token: sets the cookie.',
    isOpen: true,
    body: objectOf({ token: text }),
    answer: SESSION,
    type: JSON_TYPE,
  },
  {
    id: 'logout',
    method: 'delete',
    path: '/api/session',
    summary: 'Ends the session.',
    answer: objectOf({ kind: oneOf('ended') }),
    type: JSON_TYPE,
  },
  {
    id: 'events',
    method: 'get',
    path: '/api/events',
    summary: 'What changed, as it changes (server-sent events named `change`).',
    type: 'text/event-stream',
  },
  {
    id: 'openApi',
    method: 'get',
    path: '/api/openapi.json',
    summary: 'This document.',
    answer: objectOf({ openapi: text }),
    type: JSON_TYPE,
  },
  {
    id: 'health',
    method: 'get',
    path: '/healthz',
    summary: 'The process is alive.',
    isOpen: true,
    answer: objectOf({ status: oneOf('alive') }),
    type: JSON_TYPE,
  },
  {
    id: 'readiness',
    method: 'get',
    path: '/readyz',
    summary: 'The database answers and its schema fits; 503 with the reasons where not.',
    isOpen: true,
    answer: objectOf({ status: oneOf('ready', 'not-ready'), reasons: optional(list(text)) }),
    type: JSON_TYPE,
  },
  { id: 'metrics', method: 'get', path: '/metrics', summary: 'Numbers for Prometheus.', type: 'text/plain' },
];
