import { basename } from 'node:path';

const SAYS_NOTHING = [
  'common',
  'constants',
  'helper',
  'helpers',
  'interfaces',
  'misc',
  'shared',
  'types',
  'util',
  'utils',
];

/** Files whose name does not say what is inside. */
export function vagueNames(paths: readonly string[]): string[] {
  return paths.filter((path) => SAYS_NOTHING.includes(basename(path).replace(/(\.test)?\.[a-z]+$/, '')));
}

/** Titles that more than one test has; a report or a skip list could not tell them apart. */
export function doubledTitles(titles: readonly string[]): string[] {
  return [...new Set(titles.filter((title, i) => titles.indexOf(title) !== i))];
}
