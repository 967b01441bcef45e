const OLDEST = [22, 12] as const;

/** Why this Node cannot run the program, or nothing. Said before anything is begun: an older one fails somewhere in the middle. */
export function tooOldNode(version: string): string | undefined {
  const [major = 0, minor = 0] = version.replace(/^v/, '').split('.').map(Number);
  if (major > OLDEST[0] || (major === OLDEST[0] && minor >= OLDEST[1])) return undefined;
  return `Node ${version} is too old for holdfast; use Node ${OLDEST.join('.')} or newer (https://nodejs.org), and 22.18 or newer to run TypeScript files`;
}
