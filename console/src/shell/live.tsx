import { type QueryFilters, useQueryClient } from '@tanstack/react-query';
import { createContext, type ReactElement, type ReactNode, useContext, useEffect, useMemo, useState } from 'react';
import { apiUrl } from '../api/client.ts';

interface Live {
  readonly isLive: boolean;
  /** Ticks come from the server; otherwise it is asked now and then. */
  readonly isStreaming: boolean;
  readonly setLive: (isLive: boolean) => void;
}

const LiveContext = createContext<Live>({ isLive: true, isStreaming: false, setLive: () => {} });

export function useLive(): Live {
  return useContext(LiveContext);
}

// Events of a busy system come faster than a person reads.
const AT_MOST_EACH_MS = 1_500;
const POLL_MS = 5_000;
const POLL_WHILE_STREAMING_MS = 15_000;

const LIVE: QueryFilters = { predicate: ({ meta }) => meta?.['live'] === true };

const EVENTS = ['message', 'overview', 'tick', 'change'];

function paced(work: () => void): () => void {
  let lastMs = 0;
  return () => {
    if (document.hidden || Date.now() - lastMs < AT_MOST_EACH_MS) return;
    lastMs = Date.now();
    work();
  };
}

/** Reads again what changes by itself: when the server says so, and from time to time where it cannot. */
export function LiveUpdates({ children }: { readonly children: ReactNode }): ReactElement {
  const [isLive, setLive] = useState(true);
  const [isStreaming, setStreaming] = useState(false);
  const client = useQueryClient();
  useEffect(() => {
    if (!isLive) return undefined;
    // What is on its way is waited for: where an answer takes longer than the pace, none would ever come.
    const refresh = paced(() => void client.invalidateQueries(LIVE, { cancelRefetch: false }));
    const events = new EventSource(apiUrl('events'));
    let timer = setInterval(refresh, POLL_MS);
    const stream = (isOn: boolean): void => {
      setStreaming(isOn);
      clearInterval(timer);
      timer = setInterval(refresh, isOn ? POLL_WHILE_STREAMING_MS : POLL_MS);
    };
    events.addEventListener('open', () => stream(true));
    events.addEventListener('error', () => stream(false));
    for (const name of EVENTS) events.addEventListener(name, refresh);
    document.addEventListener('visibilitychange', refresh);
    return () => {
      events.close();
      clearInterval(timer);
      document.removeEventListener('visibilitychange', refresh);
    };
  }, [client, isLive]);
  const live = useMemo(() => ({ isLive, isStreaming, setLive }), [isLive, isStreaming]);
  return <LiveContext value={live}>{children}</LiveContext>;
}
