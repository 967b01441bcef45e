import { describe, expect, test } from 'vitest';
import { shareOut } from './share-out.ts';

function shares(
  members: Readonly<Record<string, readonly string[]>>,
  topics: Readonly<Record<string, number>>,
): Record<string, string> {
  const subscribed = new Map(Object.entries(members).map(([id, names]) => [id, { topics: names }]));
  const counted = new Map(Object.entries(topics).map(([name, partitionsCount]) => [name, { partitionsCount }]));
  const given = shareOut(subscribed, counted).map(({ memberId, assignments }) => {
    const all = [...assignments.values()].map(({ topic, partitions }) => `${topic} ${partitions.join(',')}`);
    return [memberId, all.join('; ')];
  });
  return Object.fromEntries(given) as Record<string, string>;
}

describe('partitions of a group', () => {
  test('are shared evenly, over all topics together [S1.5]', () => {
    const both = ['order', 'invoice'];
    expect(shares({ b: both, a: both }, { order: 3, invoice: 3 })).toEqual({
      a: 'invoice 0,2; order 1',
      b: 'invoice 1; order 0,2',
    });
  });

  test('go only to who takes their topic, and are evened out by the others [S1.5]', () => {
    expect(shares({ old: ['order'], fresh: ['order', 'invoice'] }, { order: 4, invoice: 2 })).toEqual({
      old: 'order 0,1,3',
      fresh: 'invoice 0,1; order 2',
    });
  });

  test('that nobody takes are nobody’s, and who is one too many has none [S1.5]', () => {
    expect(shares({ a: ['order'], b: ['order'] }, { order: 1, gone: 2 })).toEqual({ a: 'order 0', b: '' });
  });
});
