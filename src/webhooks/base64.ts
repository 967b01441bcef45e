/** Bytes from base64 in its usual or its URL alphabet, with or without padding; `undefined` when it is neither. */
export function fromBase64(text: string, alphabet: 'usual' | 'url'): Uint8Array<ArrayBuffer> | undefined {
  const allowed = alphabet === 'url' ? /^[\w-]*={0,2}$/ : /^[A-Za-z0-9+/]*={0,2}$/;
  if (!allowed.test(text)) return undefined;
  try {
    return Uint8Array.from(atob(text.replaceAll('-', '+').replaceAll('_', '/')), (letter) => letter.charCodeAt(0));
  } catch {
    return undefined;
  }
}

/** Equal bytes, found out in a time that does not tell where they differ. */
export function isSame(a: Uint8Array, b: Uint8Array): boolean {
  if (a.length !== b.length) return false;
  let difference = 0;
  for (const [at, byte] of a.entries()) difference |= byte ^ (b[at] ?? 0);
  return difference === 0;
}
