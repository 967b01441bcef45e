import { field, textField } from '../../retry/classify/field.ts';

/** The list in a field of something that came over a wire; empty when there is none. */
export function listField(value: unknown, name: string): readonly unknown[] {
  const list: unknown = field(value, name);
  return Array.isArray(list) ? list : [];
}

/** How many characters these text fields hold together. */
export function lengthOf(value: unknown, ...names: readonly string[]): number {
  return names.reduce((sum, name) => sum + (textField(value, name)?.length ?? 0), 0);
}
