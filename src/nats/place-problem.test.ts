import { describe, expect, test } from 'vitest';
import type { ConsumerConfig, StreamConfig } from './nats-library.ts';
import { consumerProblem, streamProblem } from './place-problem.ts';

const MINUTE = 60_000_000_000;
const needs = { subject: 'order.>', duplicateWindowMs: 120_000, keepMs: 86_400_000, replicas: 1 };
const ours: StreamConfig = {
  name: 'order',
  subjects: ['order.>'],
  storage: 'file',
  retention: 'limits',
  discard: 'new',
  max_age: 0,
  max_msgs: -1,
  max_bytes: -1,
  max_msgs_per_subject: -1,
  duplicate_window: 2 * MINUTE,
  num_replicas: 1,
};

describe('a stream', () => {
  test.for<[string, Partial<StreamConfig>]>([
    ['as it is made here', {}],
    ['with a limit that refuses what is new', { max_msgs: 10, max_bytes: 1_000 }],
    ['that drops the oldest, without a limit', { discard: 'old' }],
    ['that keeps for longer than is asked for', { max_age: 25 * 60 * MINUTE }],
    ['with other subjects too', { subjects: ['tills.*', 'order.>'] }],
    ['with all subjects', { subjects: ['>'] }],
    ['that refuses the second of a subject', { max_msgs_per_subject: 1, discard_new_per_subject: true }],
  ])('%s can be used [X.16]', ([, config]) => {
    expect(streamProblem({ ...ours, ...config }, needs)).toBeUndefined();
  });

  test.for<[string, Partial<StreamConfig>, RegExp]>([
    ['confirms nothing', { no_ack: true }, /no_ack/],
    ['is in memory', { storage: 'memory' }, /a restart loses it/],
    ['has too few replicas', { num_replicas: 0 }, /raise num_replicas/],
    ['forgets ids too soon', { duplicate_window: MINUTE }, /60000 ms .* after 120000 ms; raise duplicate_window/],
    ['drops what nobody wants yet', { retention: 'interest' }, /retention is interest/],
    ['gives each message to one group', { retention: 'workqueue' }, /retention is workqueue/],
    ['drops the oldest when there are many', { max_msgs: 10, discard: 'old' }, /set discard to new/],
    ['drops the oldest when it is large', { max_bytes: 10, discard: 'old' }, /set discard to new/],
    ['drops the oldest of a subject', { max_msgs_per_subject: 5 }, /max_msgs_per_subject/],
    ['drops what is old', { max_age: MINUTE }, /older than 60000 ms, read or not/],
    ['is a mirror', { mirror: { name: 'other' } }, /mirror/],
    ['is sealed', { sealed: true }, /sealed/],
    ['has other subjects', { subjects: ['tills.>', 'order', 'order.*'] }, /subject "order\.>", only tills/],
    ['has none', { subjects: undefined }, /only none/],
  ])('that %s is refused, with what to do [X.16]', ([, config, words]) => {
    expect(streamProblem({ ...ours, ...config }, needs)).toMatch(words);
  });
});

describe('a consumer', () => {
  const made: ConsumerConfig = {
    ack_policy: 'explicit',
    ack_wait: MINUTE / 6,
    max_deliver: -1,
    max_ack_pending: 1_000,
  };

  test('as it is made here can be used [X.16]', () => {
    expect(consumerProblem(made, 3_000)).toBeUndefined();
  });

  test.for<[string, Partial<ConsumerConfig>, RegExp]>([
    ['is pushed to', { deliver_subject: 'x' }, /pull consumer/],
    ['acknowledges by itself', { ack_policy: 'none' }, /ack_policy is none/],
    ['gives up', { max_deliver: 5 }, /handed over 5 times/],
    ['hands over without end', { max_ack_pending: -1 }, /any number at once; set max_ack_pending/],
    ['hands over very many', { max_ack_pending: 20_000 }, /20000 at once/],
    ['leaves out subjects', { filter_subject: 'order.x' }, /filter/],
    ['leaves out several subjects', { filter_subjects: ['order.x'] }, /filter/],
    ['has no bodies', { headers_only: true }, /headers_only/],
    ['is in memory', { mem_storage: true }, /forgets/],
    ['ends when nobody reads', { inactive_threshold: MINUTE }, /forgets/],
    ['does not wait for a sign of life', { ack_wait: MINUTE / 20 }, /set it to 6000 ms or more/],
  ])('that %s is refused, with what to do [X.16]', ([, config, words]) => {
    expect(consumerProblem({ ...made, ...config }, 3_000)).toMatch(words);
  });
});
