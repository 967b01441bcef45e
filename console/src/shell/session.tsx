import { useQuery } from '@tanstack/react-query';
import { createContext, type ReactElement, type ReactNode, useContext } from 'react';
import { carryToken, Problem } from '../api/client.ts';
import { type Session, sessionQuery } from '../api/queries.ts';
import { LoginPage } from '../login/login-page.tsx';
import { ErrorBox } from '../parts/notice.tsx';

const SessionContext = createContext<Session | undefined>(undefined);

/** What the reader may do. What they may not is not shown to them. */
export interface Rights {
  readonly canOperate: boolean;
  readonly canAdminister: boolean;
}

/** Who is here. */
export function useSession(): Session {
  const session = useContext(SessionContext);
  if (session === undefined) throw new Error('no session');
  return session;
}

/** The server stands on a MongoDB: what needs PostgreSQL is not shown. */
export function useIsMongodb(): boolean {
  return useSession().store === 'mongodb';
}

export function useRights(): Rights {
  const { role, isReadOnly } = useSession();
  return { canOperate: !isReadOnly && role !== 'viewer', canAdminister: !isReadOnly && role === 'admin' };
}

/** Shows the page to who is logged in, and the login to who is not. */
export function SessionGate({ children }: { readonly children: ReactNode }): ReactElement | null {
  const { data, error, isPending, refetch } = useQuery(sessionQuery);
  if (isPending) return null;
  if (error instanceof Problem && (error.status === 401 || error.status === 403)) return <LoginPage />;
  if (data === undefined) {
    return (
      <main className="alone">
        <ErrorBox error={error} retry={() => void refetch()} />
      </main>
    );
  }
  carryToken(data.csrf);
  return <SessionContext value={data}>{children}</SessionContext>;
}
