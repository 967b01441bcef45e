import { verify as verifyGithub } from '@octokit/webhooks-methods';
import fc from 'fast-check';
import { Pool } from 'pg';
// Not from its front: that brings the whole framework.
import { verifySlackRequest } from '@slack/bolt/dist/receivers/verify-request.js';
import { Stripe } from 'stripe';
import { describe, expect, onTestFinished, test as plainTest } from 'vitest';
import { idempotency, memoryIdempotency } from '../../src/idempotency/index.ts';
import { event, holdfast } from '../../src/index.ts';
import { postgres as postgresStore, postgresIdempotency } from '../../src/postgres/index.ts';
import { githubWebhooks, signedJobs, slackEvents, stripeWebhooks, type Verdict } from '../../src/webhooks/index.ts';
import { freshSchema } from '../support/fresh-schema.ts';
import { needs } from '../support/needs.ts';
import { NEXT, SECRET, type Sender, SENDERS } from './senders.ts';

const test = needs('postgres');
const nowS = (): number => Math.floor(Date.now() / 1_000);
const bytesOf = (text: string): Uint8Array => new TextEncoder().encode(text);

async function judge({ scheme }: Sender, headers: Record<string, string>, body: string | Uint8Array): Promise<Verdict> {
  return scheme.verify(new Headers(headers), typeof body === 'string' ? bytesOf(body) : body, Date.now());
}

const THEIRS: Readonly<Record<string, (body: string, headers: Record<string, string>) => Promise<boolean>>> = {
  Stripe: async (body, headers) => {
    try {
      return Stripe.webhooks.constructEvent(body, headers['stripe-signature'] ?? '', SECRET).object === 'event';
    } catch {
      return false;
    }
  },
  GitHub: async (body, headers) => verifyGithub(SECRET, body, headers['x-hub-signature-256'] ?? ''),
  Slack: async (body, headers) => {
    try {
      verifySlackRequest({
        signingSecret: SECRET,
        body,
        headers: {
          'x-slack-signature': headers['x-slack-signature'] ?? '',
          'x-slack-request-timestamp': Number(headers['x-slack-request-timestamp']),
        },
      });
      return true;
    } catch {
      return false;
    }
  },
};

describe.each(SENDERS.map((sender) => [sender.name, sender] as const))('%s', (name, sender) => {
  const theirs = THEIRS[name] as (body: string, headers: Record<string, string>) => Promise<boolean>;

  plainTest('a webhook is judged as by the package of its sender, on the bytes [S3.2]', async () => {
    const body = sender.body('evt_1');
    const headers = await sender.sign(body);
    const judged = async (text: string, given = headers): Promise<unknown> => [
      (await judge(sender, given, text)).kind,
      await theirs(text, given),
    ];
    expect(await judged(body)).toEqual(['verified', true]);
    expect(await judged(`${body} `)).toEqual(['refused', false]);
    expect(await judged(body, await sender.sign(body, { secret: 'other' }))).toEqual(['refused', false]);
    expect(await judge(sender, headers, body)).toMatchObject({ verified: { messageId: 'evt_1', attempt: 1 } });
  });

  plainTest('any of the secrets may have signed, so that they can be changed without a gap [S3.2]', async () => {
    const body = sender.body('evt_1');
    for (const [secret, kind] of [
      [SECRET, 'verified'],
      [NEXT, 'verified'],
      ['whsec_gone', 'refused'],
    ] as const)
      expect([secret, (await judge(sender, await sender.sign(body, { secret }), body)).kind]).toEqual([secret, kind]);
  });

  plainTest('one flipped bit, of the body or of what signs it, is refused [S3.2]', async () => {
    const body = sender.body('evt_1');
    const headers = await sender.sign(body);
    const bytes = bytesOf(body);
    expect((await judge(sender, headers, bytes)).kind).toBe('verified');
    const flipped = (given: Uint8Array): Uint8Array[] =>
      Array.from({ length: given.length * 8 }, (_, bit) =>
        given.map((byte, at) => (at === bit >> 3 ? byte ^ (1 << (bit & 7)) : byte)),
      );
    const verdicts = flipped(bytes).map((changed) => judge(sender, headers, changed));
    for (const header of sender.signed) {
      const texts = flipped(bytesOf(headers[header] ?? '')).map((changed) => String.fromCharCode(...changed));
      // Control characters cannot be sent.
      const sendable = texts.filter((text) => /^[\u0020-\u007e\u00a0-\u00ff]*$/.test(text));
      verdicts.push(...sendable.map((text) => judge(sender, { ...headers, [header]: text }, bytes)));
    }
    expect(verdicts.length).toBeGreaterThan(1_000);
    expect(new Set((await Promise.all(verdicts)).map(({ kind }) => kind))).toEqual(new Set(['refused']));
  });

  plainTest('whatever is sent in place of a signature is refused and never thrown at, nor told [S3.2]', async () => {
    const body = sender.body('evt_1');
    const headers = await sender.sign(body);
    for (const header of sender.signed) {
      const { [header]: gone, ...others } = headers;
      expect([gone, (await judge(sender, others, body)).kind]).toEqual([gone, 'refused']);
    }
    const text = fc.string({ unit: fc.integer({ min: 0x20, max: 0xff }).map((code) => String.fromCharCode(code)) });
    const isRefused = async (value: string): Promise<void> => {
      const header = sender.signed.at(-1) ?? '';
      fc.pre(!/[\u007f-\u009f]/.test(value));
      for (const given of [value, `${(headers[header] ?? '').slice(0, 20)}${value}`]) {
        const verdict = await judge(sender, { ...headers, [header]: given }, body);
        expect(verdict.kind).toBe('refused');
        if (given.length > 12) expect(JSON.stringify(verdict)).not.toContain(given);
      }
    };
    await fc.assert(fc.asyncProperty(text, isRefused), { numRuns: 100 });
  });

  plainTest('a webhook without the id it is known by is refused [S3.3]', async () => {
    const body = name === 'GitHub' ? sender.body('evt_1') : '{"type":"x"}';
    const headers = { ...(await sender.sign(body)) };
    if (name === 'GitHub') delete headers['x-github-delivery'];
    expect(await judge(sender, headers, body)).toMatchObject({ problem: expect.stringMatching(/id|Delivery/) });
    expect((await judge(sender, await sender.sign('['), '[')).kind).toBe(name === 'GitHub' ? 'verified' : 'refused');
  });

  test('sent five times at once and once more, its effect and message are there once [S3.3]', async ({ postgres }) => {
    const schema = await freshSchema(postgres);
    const pool = new Pool({ connectionString: postgres.url, max: 8 });
    onTestFinished(() => pool.end());
    const hf = holdfast({ service: 'app', store: postgresStore({ schema }) });
    const taken = event<{ readonly id: string }>('webhook.taken');
    hf.on(taken, 'book', () => {});
    const store = postgresIdempotency({ pool, schema });
    const receive = signedJobs({ idempotency: idempotency({ service: 'app', store }), scheme: sender.scheme });
    const post = receive('webhook', async (_payload, run) => {
      await run.commit((tx) => hf.send(tx, taken, { id: run.messageId }));
    });
    const body = sender.body('evt_7');
    const send = async (): Promise<number> => {
      const headers = await sender.sign(body, { id: 'evt_7' });
      return (await post(new Request('http://localhost/hooks', { method: 'POST', headers, body }))).status;
    };
    const first = await Promise.all(Array.from({ length: 5 }, send));
    expect(first.filter((status) => status === 200).length).toBeGreaterThan(0);
    expect(first.every((status) => status === 200 || status === 409)).toBe(true);
    expect(await send()).toBe(200);
    const { rows } = await pool.query(`select payload from ${schema}.outbox`);
    expect(rows).toEqual([{ payload: { id: 'evt_7' } }]);
  });
});

plainTest.for(SENDERS.filter(({ name }) => name !== 'GitHub'))(
  '$name: what is too old, or ahead of its time, is refused [S3.2]',
  async (sender) => {
    const body = sender.body('evt_1');
    const at = async (ago: number): Promise<string> =>
      (await judge(sender, await sender.sign(body, { at: nowS() - ago }), body)).kind;
    expect(await Promise.all([at(310), at(290), at(0), at(-290), at(-310)])).toEqual([
      'refused',
      'verified',
      'verified',
      'verified',
      'refused',
    ]);
  },
);

plainTest('the examples that GitHub and Slack publish are accepted, at their time [S3.2]', async () => {
  const github = githubWebhooks({ secrets: ["It's a Secret to Everybody"] });
  const headers = new Headers({
    'x-hub-signature-256': 'sha256=757107ea0eb2509fc211221cce984b8a37570b6d7586c22c46f4379c8b043e17',
    'x-github-delivery': '72d3162e-cc78-11e3-81ab-4c9367dc0958',
  });
  expect((await github.verify(headers, bytesOf('Hello, World!'), Date.now())).kind).toBe('verified');
  const slack = slackEvents({ secrets: ['8f742231b10e8888abcd99yyyzzz85a5'] });
  const body =
    'token=xyzz0WbapA4vBCDEFasx0q6G&team_id=T1DC2JH3J&team_domain=testteamnow&channel_id=G8PSS9T3V&channel_name=foobar&user_id=U2CERLKJA&user_name=roadrunner&command=%2Fwebhook-collect&text=&response_url=https%3A%2F%2Fhooks.slack.com%2Fcommands%2FT1DC2JH3J%2F397700885554%2F96rGlfmibIGlgcZRskXaIFfN&trigger_id=398738663015.47445629121.803a0bc887a14d10d2c447fce8b6703c';
  const sent = new Headers({
    'x-slack-request-timestamp': '1531420618',
    'x-slack-signature': 'v0=a2114d57b48eac39b9ad189dd8316235a7b4a8d21a10bd27519666489c69b503',
  });
  // Its signature holds; it is a slash command.
  expect(await slack.verify(sent, bytesOf(body), 1_531_420_618_000)).toEqual({
    kind: 'refused',
    problem: 'the body has no event_id: it is no event',
  });
});

plainTest('Stripe: an event whose body has changed between two tries is the same event [S3.3]', async () => {
  const effects: unknown[] = [];
  const receive = signedJobs({
    idempotency: idempotency({ service: 'app', store: memoryIdempotency() }),
    scheme: stripeWebhooks({ secrets: [SECRET] }),
  });
  const post = receive('invoice', (payload) => void effects.push(payload));
  const statuses = [];
  for (const waiting of [2, 1]) {
    const payload = JSON.stringify({ id: 'evt_1', object: 'event', pending_webhooks: waiting });
    const header = Stripe.webhooks.generateTestHeaderString({ payload, secret: SECRET });
    const headers = { 'stripe-signature': header };
    statuses.push((await post(new Request('http://localhost/', { method: 'POST', headers, body: payload }))).status);
  }
  expect([statuses, effects]).toEqual([[200, 200], [{ id: 'evt_1', object: 'event', pending_webhooks: 2 }]]);
});

plainTest('Stripe: the older scheme alone, and two times in one header, are refused [S3.2]', async () => {
  const [stripe] = SENDERS as [Sender];
  const body = stripe.body('evt_1');
  const { 'stripe-signature': good = '' } = await stripe.sign(body);
  const verdicts = [
    good,
    good.replace('v1=', 'v0='),
    `t=1,${good}`,
    `${good},v1=${'0'.repeat(64)}`,
    good.toUpperCase(),
  ];
  const kinds = await Promise.all(verdicts.map((header) => judge(stripe, { 'stripe-signature': header }, body)));
  expect(kinds.map(({ kind }) => kind)).toEqual(['verified', 'refused', 'refused', 'verified', 'refused']);
});

plainTest(
  'GitHub: a body that is sent again under another delivery id is done once, unless the id alone is to count [S3.2]',
  async () => {
    const [, github] = SENDERS as [Sender, Sender];
    const body = github.body('evt_1');
    for (const [more, expected] of [
      [{}, [200, 200, 401]],
      [{ bodyOnceForS: 3_600 }, [200, 200, 401]],
      [{ bodyOnceForS: 0 }, [200, 200, 200]],
    ] as const) {
      const receive = signedJobs({
        idempotency: idempotency({ service: 'app', store: memoryIdempotency() }),
        scheme: githubWebhooks({ secrets: [SECRET], ...more }),
      });
      const done: string[] = [];
      const post = receive('push', (_payload, run) => void done.push(run.messageId));
      const statuses = [];
      for (const id of ['a', 'a', 'b']) {
        const headers = await github.sign(body, { id });
        statuses.push((await post(new Request('http://localhost/', { method: 'POST', headers, body }))).status);
      }
      expect([more, statuses, done]).toEqual([more, expected, expected[2] === 200 ? ['a', 'b'] : ['a']]);
    }
  },
);

plainTest(
  'GitHub: two webhooks with secrets of their own that send the same body are two messages [S3.2]',
  async () => {
    const [, github] = SENDERS as [Sender, Sender];
    const idem = idempotency({ service: 'app', store: memoryIdempotency() });
    const body = github.body('evt_1');
    const statuses = [];
    for (const secret of [SECRET, NEXT]) {
      const post = signedJobs({ idempotency: idem, scheme: githubWebhooks({ secrets: [secret] }) })(
        'push',
        () => undefined,
      );
      const headers = await github.sign(body, { secret, id: secret });
      statuses.push((await post(new Request('http://localhost/', { method: 'POST', headers, body }))).status);
    }
    expect(statuses).toEqual([200, 200]);
  },
);

plainTest.for(SENDERS)(
  '$name: a request that was seen has no second effect, whatever is put into the headers it does not sign [S3.2]',
  async (sender) => {
    const done: string[] = [];
    const receive = signedJobs({
      idempotency: idempotency({ service: 'app', store: memoryIdempotency() }),
      scheme: sender.scheme,
    });
    const post = receive('seen', (_payload, run) => void done.push(run.messageId));
    const body = sender.body('evt_1');
    const seen = await sender.sign(body);
    for (const id of ['evt_1', 'evt_2', 'evt_3']) {
      const others = ['x-github-delivery', 'webhook-id', 'upstash-message-id', 'x-slack-retry-num', 'x-request-id'];
      const headers = { ...Object.fromEntries(others.map((name) => [name, id])), ...seen };
      if ('x-github-delivery' in seen) headers['x-github-delivery'] = id;
      await post(new Request('http://localhost/', { method: 'POST', headers, body }));
    }
    expect(done).toEqual(['evt_1']);
  },
);

plainTest(
  'Slack: the challenge is answered if it is signed, a retry is counted, and a final failure says so [S3.2]',
  async () => {
    const [, , slack] = SENDERS as [Sender, Sender, Sender];
    const attempts: number[] = [];
    const receive = signedJobs({
      idempotency: idempotency({ service: 'app', store: memoryIdempotency() }),
      scheme: slack.scheme,
    });
    const post = receive({ name: 'slack', maxBodyBytes: 500 }, (_payload, run) => void attempts.push(run.attempt));
    const send = async (body: string, options: Parameters<Sender['sign']>[1] = {}, more = {}): Promise<Response> => {
      const headers = { ...(await slack.sign(body, options)), ...more };
      return post(new Request('http://localhost/', { method: 'POST', headers, body }));
    };
    const asked = '{"type":"url_verification","challenge":"3eZbrw1a"}';
    expect(await (await send(asked)).json()).toEqual({ challenge: '3eZbrw1a' });
    expect((await send(asked, { secret: 'other' })).status).toBe(401);
    expect((await send(slack.body('Ev1'), {}, { 'x-slack-retry-num': '2' })).status).toBe(200);
    const limited = '{"type":"app_rate_limited","team_id":"T1","minute_rate_limited":1518467820}';
    expect((await send(limited)).status).toBe(200);
    expect(await (await send(limited)).json()).toEqual({ result: 'already done' });
    expect(attempts).toEqual([3, 1]);
    const large = await send(slack.body('x'.repeat(500)));
    expect([large.status, large.headers.get('x-slack-no-retry')]).toEqual([422, '1']);
  },
);

plainTest('secrets that are none are refused when the scheme is made, without their contents [S3.2]', () => {
  for (const make of [stripeWebhooks, githubWebhooks, slackEvents]) {
    for (const secrets of [undefined, [], [''], 'whsec_do_not_print', ['a', 7]])
      expect(() => make({ secrets } as never)).toThrow(/secrets.+pass a list of texts/s);
    expect(() => make({ secrets: 'whsec_do_not_print' } as never)).not.toThrow(/do_not_print/);
    expect(() => make({ secrets: [SECRET], retriesForS: -1 })).toThrow(/retriesForS/);
    expect(() => make({ secrets: [SECRET], secret: SECRET } as never)).toThrow(/secret/);
  }
});
