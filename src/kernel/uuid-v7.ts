/**
 * A UUID of version 7 for the given millisecond: ids made later sort later, across processes to the millisecond. Ten bytes of
 * chance are taken from `random`, from `at` on. Pure, so that tests know their ids.
 */
export function uuidV7(epochMs: number, random: Uint8Array, at = 0): string {
  const time = Math.floor(epochMs).toString(16).padStart(12, '0');
  const hex = (place: number): string => HEX[random[at + place] ?? 0] ?? '00';
  const version = HEX[((random[at] ?? 0) & 0x0f) | 0x70] ?? '70';
  const variant = HEX[((random[at + 2] ?? 0) & 0x3f) | 0x80] ?? '80';
  const node = hex(4) + hex(5) + hex(6) + hex(7) + hex(8) + hex(9);
  return `${time.slice(0, 8)}-${time.slice(8)}-${version}${hex(1)}-${variant}${hex(3)}-${node}`;
}

const HEX: readonly string[] = Array.from({ length: 256 }, (_, byte) => byte.toString(16).padStart(2, '0'));
