import { expect, test } from 'vitest';
import { defineRetryNotice } from './element.ts';

test('where there is no browser, importing the element and registering it does nothing and does not fail [S2.5]', () => {
  expect(globalThis.HTMLElement).toBeUndefined();
  expect(() => defineRetryNotice()).not.toThrow();
  expect(globalThis.customElements).toBeUndefined();
});
