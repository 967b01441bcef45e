import type { BrokenBuild } from './broken-builds.ts';

/** Faults of the built package that only a load over HTTP shows. */
export const BROKEN_LOAD = {
  lostRow: {
    what: 'that stores some replies without their row',
    file: 'postgres/idempotency/commit.js',
    text: 'const value = await driver.transaction(Math.max(LEAST_REST_MS, claim.leaseMs), effect, complete);',
    instead: `const rest = Math.max(LEAST_REST_MS, claim.leaseMs);
        if (claim.id.endsWith('0')) await driver.transaction(rest, effect, async () => { throw new Late(); }).catch(() => undefined);
        const value = await driver.transaction(rest, claim.id.endsWith('0') ? async () => worked : effect, complete);`,
  },
  secondRow: {
    what: 'that runs a route twice for some keys',
    file: 'postgres/idempotency/commit.js',
    text: 'worked = await within(native, work);',
    instead: `if (claim.id.endsWith('0')) await within(native, work);
            worked = await within(native, work);`,
  },
  shortReply: {
    what: 'whose cache cuts replies off',
    file: 'redis/redis-reply-cache.js',
    text: 'const reply = replyOf(text.slice(behindLines(text, FACTS)));',
    instead: 'const reply = replyOf(text.slice(behindLines(text, FACTS), -2));',
  },
  doublingConsumer: {
    what: 'that runs handlers twice',
    file: 'postgres/relay/commit.js',
    text: 'await driver.transaction(limitMs(), run, complete);',
    instead:
      'await driver.transaction(limitMs(), async (tx, renew) => { await run(tx, renew); await run(tx, renew); }, complete);',
  },
  lossyRelay: {
    what: 'whose relay says of some messages that they were published',
    file: 'transport/publisher.js',
    text: `const results = await limit.carry(() => within(effects, broker.publish(messages)), size);
                return batch.map((placed, at) => [placed, results[at]]);`,
    instead: `const sent = messages.filter((_, at) => !batch[at][1].delivery.id.endsWith('0'));
                await limit.carry(() => within(effects, broker.publish(sent)), size);
                return batch.map((placed) => [placed, { kind: 'published' }]);`,
  },
} satisfies Record<string, BrokenBuild>;
