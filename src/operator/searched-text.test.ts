import { expect, test } from 'vitest';
import { searchedText } from './searched-text.ts';

test('a search for a piece of text reads nothing of a payload that carries headers, at any depth [X.9]', () => {
  for (const payload of [
    { headers: { authorization: 's' } },
    { request: { Headers: { a: 's' } } },
    { answers: [{ responseHeaders: { a: 's' } }] },
    { header: 's' },
  ]) {
    expect(searchedText(JSON.stringify(payload)), JSON.stringify(payload)).toBe('');
  }
  const plain = JSON.stringify({ text: 'headers: none', headersCount: 1 });
  expect(searchedText(plain)).toBe(plain);
});
