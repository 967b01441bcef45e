const LONGEST = 256;
const TYPE = /^[\w-]+(?:\.[\w-]+)*$/;

/** True for a type of events: words of letters, digits, `_` and `-`, with dots between them, as `order.paid`. */
export function isEventType(text: string): boolean {
  return text.length <= LONGEST && TYPE.test(text);
}

/** True for what an endpoint may ask for: a type, all below one (`order.*`), or everything (`*`). */
export function isEventPattern(text: string): boolean {
  return text === '*' || isEventType(text.endsWith('.*') ? text.slice(0, -2) : text);
}

/** All patterns that mean this type: itself, each `….*` above it, and `*`. */
export function patternsOf(type: string): readonly string[] {
  const words = type.split('.');
  return [type, ...words.slice(1).map((_, at) => `${words.slice(0, at + 1).join('.')}.*`), '*'];
}
