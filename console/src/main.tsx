import { QueryClient, QueryClientProvider } from '@tanstack/react-query';
import { RouterProvider } from '@tanstack/react-router';
import { StrictMode } from 'react';
import { createRoot } from 'react-dom/client';
import { Problem } from './api/client.ts';
import { router } from './router.tsx';
import { ActsAndDialog } from './shell/acts.tsx';
import { LiveUpdates } from './shell/live.tsx';
import { SessionGate } from './shell/session.tsx';
import { Toasts } from './shell/toasts.tsx';
import './styles/base.css';
import './styles/controls.css';
import './styles/shell.css';
import './styles/data.css';
import './styles/cards.css';
import './styles/screens.css';
import './styles/print.css';

const client = new QueryClient({
  defaultOptions: {
    queries: {
      staleTime: 1_000,
      refetchOnWindowFocus: false,
      // What was refused is refused again; only a server that does not answer is asked again.
      retry: (times, error) => times < 2 && error instanceof Problem && isPassing(error.status),
    },
  },
});

/** It may be answered the next time. 501 says that it never will. */
function isPassing(status: number): boolean {
  return status === 0 || (status >= 500 && status !== 501);
}

const place = document.querySelector('#root');
if (place !== null) {
  createRoot(place).render(
    <StrictMode>
      <QueryClientProvider client={client}>
        <SessionGate>
          <LiveUpdates>
            <Toasts>
              <ActsAndDialog>
                <RouterProvider router={router} />
              </ActsAndDialog>
            </Toasts>
          </LiveUpdates>
        </SessionGate>
      </QueryClientProvider>
    </StrictMode>,
  );
}
