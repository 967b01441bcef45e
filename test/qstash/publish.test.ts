import { expect } from 'vitest';
import { needs } from '../support/needs.ts';
import { qstashHere } from './qstash-here.ts';

const test = needs('postgres');

test('what the client publishes arrives signed, byte for byte [X.8]', async ({ postgres }) => {
  const { client, sink } = await qstashHere(postgres);
  const { messageId } = await client.publishJSON({ url: `${sink.url}/json?a=1&b=%2F`, body: { hello: 'wörld' } });
  await expect.poll(() => sink.at('/json?a=1&b=%2F')).toHaveLength(1);
  const [arrival] = sink.at('/json?a=1&b=%2F');
  expect(arrival).toMatchObject({ method: 'POST', body: '{"hello":"wörld"}', verified: true });
  expect(arrival?.headers).toMatchObject({
    'content-type': 'application/json',
    'upstash-message-id': messageId,
    'upstash-retried': '0',
  });
});
