import type { By, Operator } from '../operator/operator.ts';
import { type Calls, reasonOf, remoteCaller, type RemoteOptions } from './remote-caller.ts';

/**
 * The operator's functions through a server of `operatorServer`. Answers are what the operator there answers; what is hidden from the
 * token's role is hidden here. The server writes the token's own name into the audit, whatever `by.actor` says, and forecasts with
 * its own policies. Throws `REMOTE_AWAY`, `REMOTE_REFUSED` or `REMOTE_UNFIT` besides what an operator throws.
 */
export function remoteOperator(options: RemoteOptions): Operator {
  const call = remoteCaller('remoteOperator()', options);
  return { ...messages(call), ...failures(call), ...handlers(call), ...system(call) } as unknown as Operator;
}

type Functions<Names extends keyof Operator> = {
  readonly [N in Names]: (...args: Parameters<Operator[N]>) => Promise<unknown>;
};

function messages(
  call: Calls,
): Functions<
  'messages' | 'messageTabs' | 'find' | 'show' | 'why' | 'forecast' | 'replay' | 'discard' | 'edit' | 'cancel'
> {
  return {
    messages: (filter) => call('listMessages', { query: filter }),
    messageTabs: () => call('countMessages'),
    find: (id) => call('findMessage', { params: { id } }),
    show: (id) => call('showMessage', { params: { id } }),
    why: (id) => call('explainMessage', { params: { id } }),
    forecast: (id) => call('forecastMessage', { params: { id } }),
    replay: (id, by, options = {}) => call('replayMessage', { params: { id }, body: { ...options, ...reasonOf(by) } }),
    discard: (id, by, options = {}) =>
      call('discardMessage', { params: { id }, body: { ...options, ...reasonOf(by) } }),
    edit: (id, payload, by, options = {}) =>
      call('editMessage', { params: { id }, body: { ...options, payload, ...reasonOf(by) } }),
    cancel: (id, by) => call('cancelMessage', { params: { id }, body: reasonOf(by) }),
  };
}

function failures(
  call: Calls,
): Functions<
  | 'deadLetters'
  | 'replayWhere'
  | 'groups'
  | 'group'
  | 'resolveGroup'
  | 'ignoreGroup'
  | 'reopenGroup'
  | 'planBulk'
  | 'startBulk'
  | 'pauseBulk'
  | 'resumeBulk'
  | 'cancelBulk'
  | 'bulk'
  | 'bulks'
  | 'bulkItems'
  | 'stepBulks'
> {
  const changes =
    (id: string) =>
    (of: string, by: By): Promise<unknown> =>
      call(id, { params: { id: of }, body: reasonOf(by) });
  return {
    deadLetters: (filter) => call('listDeadLetters', { query: filter }),
    replayWhere: ({ limit, ...filter }, by, options = {}) =>
      call('replayDeadLetters', { body: { filter, limit, ...options, ...reasonOf(by) } }),
    groups: (filter) => call('listGroups', { query: filter }),
    group: (id) => call('showGroup', { params: { id } }),
    resolveGroup: changes('resolveGroup'),
    ignoreGroup: changes('ignoreGroup'),
    reopenGroup: changes('reopenGroup'),
    planBulk: (request, by) => call('planBulk', { body: { ...request, ...reasonOf(by) } }),
    startBulk: changes('startBulk'),
    pauseBulk: changes('pauseBulk'),
    resumeBulk: changes('resumeBulk'),
    cancelBulk: changes('cancelBulk'),
    bulk: (id) => call('showBulk', { params: { id } }),
    bulks: (filter) => call('listBulks', { query: filter }),
    bulkItems: (id, filter) => call('listBulkItems', { params: { id }, query: filter }),
    stepBulks: () => call('stepBulks'),
  };
}

function handlers(
  call: Calls,
): Functions<
  | 'handlers'
  | 'stats'
  | 'pause'
  | 'resume'
  | 'retire'
  | 'limit'
  | 'pauseAll'
  | 'resumeAll'
  | 'heldKeys'
  | 'replayKey'
  | 'discardKey'
  | 'releaseKey'
  | 'skipKey'
  | 'breakers'
  | 'openBreaker'
  | 'closeBreaker'
> {
  return {
    handlers: () => call('listHandlers'),
    stats: (options) => call('stats', { query: options }),
    pause: (handler, by) => call('pauseHandler', { body: { handler, ...reasonOf(by) } }),
    resume: (handler, by) => call('resumeHandler', { body: { handler, ...reasonOf(by) } }),
    retire: (handler, by, options = {}) => call('retireHandler', { body: { handler, ...options, ...reasonOf(by) } }),
    limit: (handler, limit, by) => call('limitHandler', { body: { handler, limit, ...reasonOf(by) } }),
    pauseAll: (by) => call('pauseAll', { body: reasonOf(by) }),
    resumeAll: (by) => call('resumeAll', { body: reasonOf(by) }),
    heldKeys: (filter) => call('listKeys', { query: filter }),
    replayKey: (handler, key, by, options = {}) =>
      call('replayKey', { body: { handler, key, ...options, ...reasonOf(by) } }),
    discardKey: (handler, key, by) => call('discardKey', { body: { handler, key, ...reasonOf(by) } }),
    releaseKey: (handler, key, by) => call('releaseKey', { body: { handler, key, ...reasonOf(by) } }),
    skipKey: (handler, key, by) => call('skipKey', { body: { handler, key, ...reasonOf(by) } }),
    breakers: (filter) => call('listBreakers', { query: filter }),
    openBreaker: (name, by) => call('openBreaker', { body: { name, ...reasonOf(by) } }),
    closeBreaker: (name, by) => call('closeBreaker', { body: { name, ...reasonOf(by) } }),
  };
}

function system(
  call: Calls,
): Functions<
  | 'overview'
  | 'system'
  | 'audit'
  | 'verifyAudit'
  | 'previewErase'
  | 'erase'
  | 'erasures'
  | 'trace'
  | 'idempotencyRecords'
  | 'commands'
  | 'outgoingCalls'
> {
  return {
    overview: (options) => call('overview', { query: options }),
    system: () => call('system'),
    audit: (filter) => call('listAudit', { query: filter }),
    previewErase: (subject, options = {}) => call('previewErase', { body: { ...subject, ...options } }),
    erase: (subject, by, options = {}) => call('erase', { body: { ...subject, ...options, ...reasonOf(by) } }),
    erasures: () => call('listErasures'),
    verifyAudit: (anchor) => call('verifyAudit', { query: anchor }),
    trace: (id, options) => call('trace', { query: { ...options, id } }),
    idempotencyRecords: (filter) => call('listIdempotencyRecords', { query: filter }),
    commands: (filter) => call('listCommands', { query: filter }),
    outgoingCalls: (filter) => call('listCalls', { query: filter }),
  };
}
