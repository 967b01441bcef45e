import { OptionCheck } from '../kernel/check-options.ts';

/** Where everything of ours lives unless said otherwise. */
export const DEFAULT_SCHEMA = 'holdfast';

/**
 * The name of a schema, quoted for use in a statement. Only plain lower-case names are taken: they need no quoting in an
 * operator's psql either, and leave no room for anything else. At most 57 characters: the channel's name, made from it, must fit
 * into 63.
 */
export function quotedSchema(of: string, schema: string = DEFAULT_SCHEMA): string {
  if (typeof schema !== 'string' || !/^[a-z_][a-z0-9_]{0,56}$/.test(schema)) {
    const check = new OptionCheck(of);
    check.refuse('schema', schema, 'write lower-case letters, digits and _, at most 57');
    check.done();
  }
  return `"${schema}"`;
}
