export type { EndedSessions } from '../operator/ended-sessions.ts';
export type { ChangedPart, ChangeNote } from './event-hub.ts';
export type { NodeRequest } from './node-listener.ts';
export { type OperatorServer, operatorServer } from './operator-server.ts';
export { REDACTED } from './redaction.ts';
export { remoteOperator, type RemoteOperatorOptions } from './remote-operator.ts';
export { type Role, ROLES } from './route.ts';
export type { OperatorServerOptions, Redaction, RequestFacts } from './server-options.ts';
export type { Token, Who } from './sessions.ts';
