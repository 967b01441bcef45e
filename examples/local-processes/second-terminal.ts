/**
 * What is pasted first into a second terminal: variables of this run as a shell takes them, and where the Node of that terminal is too
 * old for TypeScript, the way to the one that runs here. One that is not told has to be set as it is set here.
 */
export function secondTerminal(env: Readonly<Record<string, string | undefined>>): string {
  const brought = process.env['HOLDFAST_BROUGHT_NODE'];
  const told = Object.entries(env).map(([name, value]) => (value === undefined ? name : `${name}=${value}`));
  return `export ${[...told, ...(brought ? [`PATH='${brought}':"$PATH"`] : [])].join(' ')}`;
}
