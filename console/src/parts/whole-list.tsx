import type { ReactElement, ReactNode } from 'react';
import { ErrorBox, Skeleton } from './notice.tsx';

/** A list that is read whole, or what stands in its place: a skeleton, an error, what it would show. */
export function WholeList<Item>({
  query,
  empty,
  children,
}: {
  readonly query: {
    readonly data: readonly Item[] | undefined;
    readonly error: unknown;
    readonly refetch: () => unknown;
  };
  readonly empty: ReactNode;
  readonly children: (items: readonly Item[]) => ReactNode;
}): ReactElement {
  const { data, error, refetch } = query;
  if (data !== undefined) return <>{data.length === 0 ? empty : children(data)}</>;
  return error === null ? <Skeleton /> : <ErrorBox error={error} retry={() => void refetch()} />;
}
