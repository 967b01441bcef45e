// A cycle is found by depth: JSON that is nested deeper than this is a mistake as well.
const MAX_DEPTH = 100;
// The end of a path into a cycle says nothing: an error shows its beginning.
const MAX_PLACE = 200;
// JSON keeps none of what these hold, even where an object of the kind carries fields of its own.
const LOST_KINDS = new Set([
  'Map',
  'Set',
  'WeakMap',
  'WeakSet',
  'WeakRef',
  'Promise',
  'RegExp',
  'Error',
  'ArrayBuffer',
  'SharedArrayBuffer',
  'DataView',
]);
const BOXED_KINDS = new Set(['Number', 'String', 'Boolean', 'BigInt', 'Symbol']);

/** A place below the value that was passed, and what is wrong there. The path is built on the way back: values without a fault cost no text. */
interface Fault {
  path: string;
  readonly words: (place: string) => string;
}

/**
 * The first place that JSON would change in silence or a database cannot hold (NaN, -0, bigint, a Map, a Buffer, a list with fields, an
 * unawaited Promise, NUL, half a surrogate pair, a cycle, nothing at all), in words and without the value; nothing when all is well.
 * JSON's own conventions are not faults: a field that is undefined is left out, `toJSON` decides for its object (a Date is its text),
 * an instance of a class is its own enumerable fields.
 */
export function findUnstorable(value: unknown, place: string): string | undefined {
  const fault = faultOf(value, '', 0);
  if (fault === undefined) return undefined;
  const full = `${place}${fault.path}`;
  return fault.words(full.length > MAX_PLACE ? `${full.slice(0, MAX_PLACE)}…` : full);
}

function faultOf(value: unknown, name: string | number, depth: number): Fault | undefined {
  switch (typeof value) {
    case 'string':
      return faultOfText(value);
    case 'number':
      return faultOfNumber(value);
    case 'boolean':
      return undefined;
    case 'object':
      return value === null ? undefined : faultOfObject(value, name, depth);
    case 'undefined':
      return at((place) => `${place} is undefined, which JSON cannot hold`);
    default:
      return at((place) => `${place} is a ${typeof value}, which JSON cannot hold`);
  }
}

function at(words: Fault['words']): Fault {
  return { path: '', words };
}

function faultOfNumber(value: number): Fault | undefined {
  if (Number.isFinite(value) && !Object.is(value, -0)) return undefined;
  const [shown, as] = value === 0 ? ['-0', '0'] : [String(value), 'null'];
  return at((place) => `${place} is ${shown}, which JSON turns into ${as}`);
}

function faultOfText(text: string): Fault | undefined {
  if (text.includes('\u0000')) return at((place) => `${place} holds a NUL character, which the database cannot store`);
  if (text.isWellFormed()) return undefined;
  return at((place) => `${place} holds half of a surrogate pair, which is no valid text`);
}

function faultOfObject(value: object, name: string | number, depth: number): Fault | undefined {
  if (depth > MAX_DEPTH) return at((place) => `${place} is nested deeper than ${MAX_DEPTH}, or in a circle`);
  // Before toJSON: that of a Buffer makes an object of it.
  if (ArrayBuffer.isView(value)) return faultOfKind(value, true);
  const toJSON: unknown = 'toJSON' in value ? value.toJSON : undefined;
  const shown: unknown = typeof toJSON === 'function' ? toJSON.call(value, String(name)) : value;
  if (shown === null && value instanceof Date) {
    return at((place) => `${place} is an invalid Date, which JSON turns into null`);
  }
  if (typeof shown !== 'object' || shown === null) return faultOf(shown, name, depth + 1);
  if (Array.isArray(shown)) return faultInList(shown, depth);
  const names = Object.keys(shown);
  const fault = isPlain(shown) ? undefined : faultOfKind(shown, names.length === 0);
  return fault ?? faultInFields(shown as Readonly<Record<string, unknown>>, names, depth);
}

function isPlain(value: object): boolean {
  const prototype: unknown = Object.getPrototypeOf(value);
  return prototype === Object.prototype || prototype === null;
}

/** Whether an object that is not a plain one holds what is nowhere in its JSON. `isEmpty`: it has no fields that JSON would write. */
function faultOfKind(value: object, isEmpty: boolean): Fault | undefined {
  const kind = Object.prototype.toString.call(value).slice('[object '.length, -1);
  if (BOXED_KINDS.has(kind)) return at((place) => `${place} is a ${kind} object, so send the value in it`);
  const isLost =
    LOST_KINDS.has(kind) || ArrayBuffer.isView(value) || (isEmpty && (kind !== 'Object' || hasGetter(value)));
  if (!isLost) return undefined;
  const { constructor } = value as { readonly constructor?: { readonly name?: string } | undefined };
  // A Buffer is a Uint8Array to everything but its class.
  const called = (kind === 'Object' || kind === 'Uint8Array' ? constructor?.name : undefined) ?? kind;
  const why = kind === 'Promise' ? 'so await it first' : 'which JSON does not keep';
  return at((place) => `${place} is ${/^[AEI]/.test(called) ? 'an' : 'a'} ${called}, ${why}`);
}

/** Whether values are read through the class, from fields that JSON does not see. */
function hasGetter(value: object): boolean {
  const above = Object.getPrototypeOf(value) as object | null;
  // The end of the chain is the prototype of plain objects, which has a getter of its own (`__proto__`), also in another realm.
  if (above === null || Object.getPrototypeOf(above) === null) return false;
  return Object.values(Object.getOwnPropertyDescriptors(above)).some((one) => 'get' in one) || hasGetter(above);
}

function faultInFields(
  fields: Readonly<Record<string, unknown>>,
  names: readonly string[],
  depth: number,
): Fault | undefined {
  for (const name of names) {
    const item = fields[name];
    // JSON leaves out a field that is undefined, as senders expect.
    if (item === undefined) continue;
    const wrongName = faultOfText(name);
    if (wrongName) return at((place) => wrongName.words(`a name in ${place}`));
    const fault = faultOf(item, name, depth + 1);
    if (fault) return below(name, fault);
  }
  return faultOfSymbols(fields);
}

function below(name: string | number, fault: Fault): Fault {
  fault.path = `.${name}${fault.path}`;
  return fault;
}

/** A list with a hole, or with undefined in it, has null there as JSON; what it carries besides its items is not in its JSON. */
function faultInList(list: readonly unknown[], depth: number): Fault | undefined {
  for (let index = 0; index < list.length; index++) {
    const fault = faultOf(list[index], index, depth + 1);
    if (fault) return below(index, fault);
  }
  const names = Object.keys(list);
  // The items come first in the names.
  const extra = names[list.length];
  if (extra !== undefined)
    return at((place) => `${place} is a list with a field "${extra.toWellFormed()}", which JSON does not keep`);
  return faultOfSymbols(list);
}

function faultOfSymbols(value: object): Fault | undefined {
  for (const symbol of Object.getOwnPropertySymbols(value)) {
    if (!Object.prototype.propertyIsEnumerable.call(value, symbol)) continue;
    return at((place) => `${place} has a field named by a symbol, which JSON does not keep`);
  }
  return undefined;
}
