/** A number as people read it: `1,284`. */
export function count(value: number): string {
  return value.toLocaleString('en-US');
}

/** `1 message`, `2 messages`. */
export function counted(value: number, one: string, many: string = `${one}s`): string {
  return `${count(value)} ${value === 1 ? one : many}`;
}

/** A rate: `0`, `0.3`, `12`. */
export function rate(value: number): string {
  if (value > 0 && value < 0.05) return '< 0.1';
  return value === 0 ? '0' : value < 10 ? value.toFixed(1) : count(Math.round(value));
}

/** A share of one: `0 %`, `2.5 %`, `40 %`. */
export function percent(share: number | undefined): string {
  if (share === undefined) return '–';
  const value = share * 100;
  return `${value === 0 || value >= 10 ? Math.round(value) : value.toFixed(1)} %`;
}

/** Bytes in the unit that fits. */
export function bytes(value: number): string {
  if (value < 1_024) return `${value} B`;
  const units = ['KiB', 'MiB', 'GiB', 'TiB'];
  let rest = value / 1_024;
  let at = 0;
  while (rest >= 1_024 && at < units.length - 1) {
    rest /= 1_024;
    at += 1;
  }
  return `${rest < 10 ? rest.toFixed(1) : Math.round(rest)} ${units[at]}`;
}

/** A long id by its ends: enough to tell two apart. */
export function shortId(id: string): string {
  const [head = '', tail] = id.split(':');
  const short = head.length > 20 ? `${head.slice(0, 8)}…${head.slice(-4)}` : head;
  return tail === undefined ? short : `${short}:${tail}`;
}

const UUID = /^[\da-f]{8}(-[\da-f]{4}){3}-[\da-f]{12}$/i;

/** A key as people wrote it; one that is an id, by its ends. */
export function shortKey(key: string): string {
  return UUID.test(key) ? shortId(key) : key;
}

/** An error in one line. */
export function errorLine(error: {
  readonly name: string;
  readonly code?: string | undefined;
  readonly message: string;
}): string {
  return `${error.code ?? error.name}: ${error.message}`;
}
