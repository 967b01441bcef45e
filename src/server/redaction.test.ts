import { describe, expect, test } from 'vitest';
import { REDACTED, RedactionRules } from './redaction.ts';

const rules = new RedactionRules({ paths: ['items.*.iban', 'items.card', 'owner.email'], visibleTo: 'nobody' });

interface Shown {
  owner: { email: string; name?: string };
  items: { n: number; iban?: string; card?: string }[];
}
const WHOLE: Shown = {
  owner: { email: 'ann@example.com' },
  items: [
    { n: 1, iban: 'DE1', card: '11' },
    { n: 2, iban: 'DE2', card: '22' },
    { n: 3, iban: 'DE3', card: '33' },
  ],
};

function edited(change: (shown: Shown) => void): unknown {
  const shown = structuredClone(rules.payload(WHOLE)) as Shown;
  change(shown);
  return rules.restore(shown, WHOLE);
}

describe('an edit of what was shown with places hidden', () => {
  test('keeps each hidden value with its own item, also when items were taken out, moved or changed [X.9]', () => {
    expect(edited(() => undefined)).toEqual(WHOLE);
    expect(edited(({ items }) => void items.shift())).toEqual({ ...WHOLE, items: WHOLE.items.slice(1) });
    expect(edited((shown) => void (shown.items = shown.items.toReversed()))).toEqual({
      ...WHOLE,
      items: WHOLE.items.toReversed(),
    });
    expect(edited(({ items }) => void items.splice(1, 1, { n: 9, iban: REDACTED, card: 'new' }))).toEqual({
      ...WHOLE,
      items: [WHOLE.items[0], { n: 9, iban: 'DE2', card: 'new' }, WHOLE.items[2]],
    });
    expect(edited(({ items }) => void items.push({ n: 4, iban: 'DE4' }))).toEqual({
      ...WHOLE,
      items: [...WHOLE.items, { n: 4, iban: 'DE4' }],
    });
  });

  test('is refused where nobody can tell which hidden value is meant: none is lost or given to another [X.9]', () => {
    const refused = { code: 'INVALID_OPTIONS' };
    expect(() => edited(({ items }) => void items.push({ n: 4, iban: REDACTED }))).toThrow(
      expect.objectContaining(refused),
    );
    expect(() =>
      edited(({ items }) => {
        items.shift();
        Object.assign(items[0] ?? {}, { n: 7 });
      }),
    ).toThrow(expect.objectContaining(refused));
    expect(() => edited(({ owner }) => void Object.assign(owner, { name: REDACTED }))).toThrow(
      expect.objectContaining(refused),
    );
  });
});

test('a rule and a path of many lists are compared in time that grows with their length [X.9]', () => {
  const long = new RedactionRules([`items${'.0'.repeat(100)}.iban`]);
  expect(long.covers(['items', ...Array.from({ length: 100 }, () => '1'), 'name'])).toBe(false);
  expect(long.covers(['items', ...Array.from({ length: 100 }, () => '1'), 'iban'])).toBe(true);
});

describe('a place in headers', () => {
  test('is hidden in a payload that has such a field, too, and all of them where none is named [X.9]', () => {
    const some = new RedactionRules(['headers.authorization']);
    const payload = { headers: { authorization: 'Bearer 1', accept: '*/*' } };
    expect(some.payload(payload)).toEqual({ headers: { authorization: REDACTED, accept: '*/*' } });
    expect(some.covers(['headers', 'authorization'])).toBe(true);
    expect(some.headers({ Authorization: 'Bearer 1', accept: '*/*' })).toEqual({
      Authorization: REDACTED,
      accept: '*/*',
    });
    const all = new RedactionRules(['headers']);
    expect(all.headers({ authorization: 'Bearer 1' })).toEqual({ authorization: REDACTED });
    expect(all.payload(payload)).toEqual({ headers: REDACTED });
  });
});

describe('a place with any name below it', () => {
  test('is hidden itself where it has no places below it, and an edit keeps it [X.9]', () => {
    const card = new RedactionRules({ paths: ['card.*', 'items.*.iban'], visibleTo: 'nobody' });
    for (const whole of [{ card: '4111' }, { card: { number: '4111' } }, { card: ['4111', '4222'] }, { card: 4111 }]) {
      const shown = card.payload(whole);
      expect(JSON.stringify(shown)).not.toContain('4111');
      expect(card.restore(shown, whole)).toEqual(whole);
    }
    expect(card.payload({ card: null })).toEqual({ card: null });
  });
});

describe('a field with a name that every object has', () => {
  test('is restored only where the message had it, and never as what is built in [X.9]', () => {
    const all = new RedactionRules(['*']);
    expect(() => all.restore({ constructor: REDACTED }, { a: 1 })).toThrow('leave what is hidden where it was');
    const whole = JSON.parse('{"__proto__":"a","constructor":"b"}') as object;
    expect(JSON.stringify(all.restore(all.payload(whole), whole))).toBe(JSON.stringify(whole));
  });
});
