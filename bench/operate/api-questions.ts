type Query = Readonly<Record<string, string>>;
type Questions = Readonly<Record<string, readonly Query[]>>;

/** What is asked about. */
export interface Examples {
  readonly letter: string;
  readonly message: string;
  readonly group: string;
  readonly bulk: string;
}

const DAYS_AGO = new Date(Date.now() - 3 * 86_400_000).toISOString();
const HOUR_AGO = new Date(Date.now() - 3_600_000).toISOString();
const CUSTOMER = { 'payload.customer.id': '42' };
const HANDLER = 'handler-3';

/** What people ask each route, the plain question first. Of lists a page far behind is asked for as well. */
export function questions(examples: Examples): Questions {
  const { letter, message, group, bulk } = examples;
  return {
    ...messageQuestions(examples),
    overview: [{}, { range: 'day' }, { range: 'week' }],
    listIdempotencyRecords: [{}, { status: 'unknown' }, { domain: 'orders' }],
    listCommands: [{}, { state: 'dlq' }, { name: 'charge-3' }, { target: 'run-77' }],
    showRun: [{ target: 'run-77' }],
    listCalls: [{}, { isOk: 'false' }, { service: 'shop' }, { destination: 'api.bank.example' }],
    trace: [{ id: message }, { id: letter }, { id: 'corr_77' }, { id: 'user_77' }, { id: 'r77', limit: '5000' }],
    system: [{}],
    listErasures: [{}],
    listAudit: [
      {},
      { actor: 'person-7' },
      { verb: 'pause' },
      { handler: HANDLER },
      { since: HOUR_AGO },
      { messageId: message },
    ],
    listGroups: [
      {},
      { state: 'open' },
      { service: 'mail' },
      { handler: HANDLER },
      { type: 'order.paid' },
      { search: 'econn' },
      { isPending: 'true' },
      { isPending: 'false' },
    ],
    showGroup: [{ id: group }],
    listBulks: [{}, { state: 'done' }],
    showBulk: [{ id: bulk }],
    listBulkItems: [{ id: bulk }, { id: bulk, outcome: 'failed' }],
    listKeys: [{}, { service: 'mail' }, { handler: HANDLER }],
    listHandlers: [{}],
    stats: [{}, { countDelivered: 'true' }],
    listBreakers: [{}],
    showSession: [{}],
    openApi: [{}],
    health: [{}],
    readiness: [{}],
    metrics: [{}],
  };
}

function messageQuestions({ letter, message, group }: Examples): Questions {
  return {
    listMessages: [
      {},
      { since: DAYS_AGO, until: HOUR_AGO },
      { until: DAYS_AGO },
      ...['pending', 'delivered', 'failed', 'discarded'].map((status) => ({ status })),
      { status: 'failed', until: DAYS_AGO },
      { type: 'order.*' },
      { type: 'rare.type' },
      { key: 'key_77' },
      { service: 'mail' },
      { handler: HANDLER },
      { error: 'econn' },
      { status: 'failed', error: 'nowhere' },
      CUSTOMER,
      { status: 'failed', ...CUSTOMER },
    ],
    countMessages: [{}],
    showMessage: [{ id: message }, { id: letter }],
    findMessage: [{ id: message }, { id: letter }],
    explainMessage: [{ id: message }, { id: letter }],
    forecastMessage: [{ id: letter }],
    listDeadLetters: [
      {},
      ...['replaying', 'replayed', 'discarded'].map((status) => ({ status })),
      { service: 'mail' },
      { handler: HANDLER },
      { type: 'order.paid' },
      { key: 'key_77' },
      { since: HOUR_AGO },
      { until: HOUR_AGO },
      { errorCode: 'E42' },
      { group },
      { search: 'dead_4' },
      { search: 'nowhere' },
      CUSTOMER,
    ],
  };
}
