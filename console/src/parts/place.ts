import { useNavigate, useSearch } from '@tanstack/react-router';

/** What the address says after `?`: texts by name. */
export type Search = Readonly<Record<string, string | undefined>>;

/** The search part of the address, and how to change it. A change with `undefined` or '' takes the name out. */
export function usePlace(): readonly [Search, (change: Search, options?: { readonly replace?: boolean }) => void] {
  const search: Search = useSearch({ strict: false });
  const navigate = useNavigate();
  const change = (wanted: Search, options: { readonly replace?: boolean } = {}): void => {
    void navigate({ to: '.', search: cleaned({ ...search, ...wanted }), replace: options.replace ?? false });
  };
  return [search, change];
}

/** Without what is empty. */
export function cleaned(search: Search): Record<string, string> {
  return Object.fromEntries(
    Object.entries(search).filter((pair): pair is [string, string] => pair[1] !== undefined && pair[1] !== ''),
  );
}
