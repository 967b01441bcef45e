/** What a log line says of a thrown value: its class and its code, never its text. */
export function errorFields(error: unknown): { readonly errorClass: string; readonly errorCode?: string } {
  const { name, code } = error instanceof Error ? (error as Error & { code?: unknown }) : { name: typeof error };
  return { errorClass: name, ...(typeof code === 'string' ? { errorCode: code } : {}) };
}
