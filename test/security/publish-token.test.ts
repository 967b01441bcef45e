import { expect } from 'vitest';
import { sharedQstash } from '../qstash/qstash-here.ts';
import { needs } from '../support/needs.ts';
import { ALWAYS, foundIn } from './planted.ts';
import { V2Caller } from './v2-caller.ts';

const test = needs('postgres');
const qstashHere = sharedQstash();

test('a token that may but publish reads a message without the credentials that another has sent along [X.8] [X.9]', async ({
  postgres,
}) => {
  const { url, token, deliveries } = await qstashHere(postgres);
  const sent = await new V2Caller(url, token).ask('POST', `publish/https://shop.example/?token=${ALWAYS.query}`, {
    headers: {
      'upstash-forward-authorization': `Bearer ${ALWAYS.header}`,
      'upstash-forward-x-tenant': '7',
      'upstash-callback': `https://done.example/?key=${ALWAYS.query}`,
      'upstash-callback-forward-cookie': ALWAYS.cookie,
      'upstash-delay': '1h',
    },
    body: '{}',
  });
  const path = `messages/${String(sent.json['messageId'])}`;
  const publisher = await deliveries.tokens.create('app', ['publish']);
  const seen = await new V2Caller(url, publisher.token).ask('GET', path);
  expect(seen).toMatchObject({ status: 200, json: { header: { Authorization: ['[hidden]'], 'X-Tenant': ['7'] } } });
  expect(foundIn(seen.text, ALWAYS)).toEqual([]);
  const operated = await deliveries.tokens.create('ops', ['operate']);
  const whole = await new V2Caller(url, operated.token).ask('GET', path);
  expect(whole.json).toMatchObject({ header: { Authorization: [`Bearer ${ALWAYS.header}`] } });
});
