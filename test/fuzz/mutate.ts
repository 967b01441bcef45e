import type { SeededRandom } from '../simulation/seeded-random.ts';

const LONGEST = 2_000;
// What parsers forget: names every object has, the ends of numbers, half a pair of surrogates, spaces that are none.
const NASTY: readonly [string, ...string[]] = [
  '__proto__',
  'constructor',
  'toString',
  'hasOwnProperty',
  '\u0000',
  '\ud800',
  '\u00a0',
  '\u2028',
  '\ufeff',
  '%00',
  '%',
  '\\',
  '"',
  "'",
  '\r\n',
  '-0',
  '1e999',
  '9007199254740993',
  '99999999999999999999999999',
  '0x10',
  '[]',
  '{}',
  '=',
  ',',
  ';',
  ':',
  '/',
  '..',
];

/** One of the texts with one to four small changes; the others lend parts of theirs. */
export function mutate(words: readonly string[], others: readonly string[], random: SeededRandom): string {
  let made = oneOf(others, random);
  for (let changes = random.int(1, 4); changes > 0; changes -= 1) made = changed(made, words, others, random);
  return made.slice(0, LONGEST);
}

function changed(text: string, words: readonly string[], others: readonly string[], random: SeededRandom): string {
  const at = random.int(0, text.length);
  const to = Math.min(text.length, at + random.int(1, 8));
  const [before, inside, after] = [text.slice(0, at), text.slice(at, to), text.slice(to)];
  const other = oneOf(others, random);
  const from = random.int(0, other.length);
  switch (random.int(0, 8)) {
    case 0:
      return before + after;
    case 1:
      return before + inside.repeat(random.int(2, 30)) + after;
    case 2:
      return before + random.pick(NASTY) + after;
    case 3:
      return before + random.pick(NASTY) + inside + after;
    case 4:
      return before + oneOf(words, random) + after;
    case 5:
      return before + oneOf(words, random) + inside + after;
    case 6:
      return before + String.fromCharCode(random.int(0, 127)) + text.slice(at + 1);
    case 7:
      return before + other.slice(from, from + random.int(1, 20)) + after;
    default:
      return before + other.slice(from);
  }
}

function oneOf(texts: readonly string[], random: SeededRandom): string {
  return texts[random.int(0, texts.length - 1)] ?? '';
}
