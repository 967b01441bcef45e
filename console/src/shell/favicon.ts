import { useQuery } from '@tanstack/react-query';
import { useEffect } from 'react';
import { overviewQuery } from '../api/queries.ts';

/** Shows in the tab of the browser that something needs somebody. Answers how many things. */
export function useAttention(): number {
  const { data } = useQuery(overviewQuery('hour'));
  const things = data?.attention.length ?? 0;
  useEffect(() => {
    const link = document.querySelector<HTMLLinkElement>('#favicon');
    if (link !== null) link.href = things > 0 ? './favicon-alert.svg' : './favicon.svg';
  }, [things]);
  return things;
}
