const SEED = 0x9747b28c;
const M = 0x5bd1e995;

/**
 * The partition of a key, as Java's producer chooses it: messages of a key that others write too stand in one partition with ours.
 */
export function partitionOf(key: Uint8Array, partitions: number): number {
  return (murmur2(key) & 0x7fffffff) % partitions;
}

/** Murmur 2 in 32 bits, with the seed Kafka uses; signed. */
function murmur2(bytes: Uint8Array): number {
  const { length } = bytes;
  const view = new DataView(bytes.buffer, bytes.byteOffset, length);
  const whole = length - (length % 4);
  let hash = SEED ^ length;
  for (let at = 0; at < whole; at += 4) {
    let word = Math.imul(view.getInt32(at, true), M);
    word = Math.imul(word ^ (word >>> 24), M);
    hash = Math.imul(hash, M) ^ word;
  }
  for (let at = length - 1; at >= whole; at--) hash ^= view.getUint8(at) << (8 * (at - whole));
  if (whole < length) hash = Math.imul(hash, M);
  hash = Math.imul(hash ^ (hash >>> 13), M);
  return hash ^ (hash >>> 15);
}
