/** What is used of a document. */
export interface GraphqlDocument {
  readonly definitions: readonly {
    readonly kind: string;
    readonly operation?: string;
    readonly name?: { readonly value: string } | undefined;
  }[];
}

/** What a mutation without a key is told. */
export const KEY_MISSING_MESSAGE =
  'The header Idempotency-Key is missing. Send one with a value of its own for each operation.';

/** True when the operation of that name, or any where none is named, changes something. */
export function isMutation({ definitions }: GraphqlDocument, name: string | null | undefined): boolean {
  const operations = definitions.filter((definition) => definition.kind === 'OperationDefinition');
  const chosen =
    typeof name === 'string' && name !== '' ? operations.filter((found) => found.name?.value === name) : operations;
  return chosen.some((operation) => operation.operation === 'mutation');
}
