import type { ReactElement } from 'react';

// Strokes on a grid of 16.
const PATHS = {
  overview: 'M2.5 13.5v-4M6.2 13.5v-8M9.8 13.5v-6M13.5 13.5v-11',
  messages: 'M2.5 4.5h11v7h-11zM2.8 5l5.2 4 5.2-4',
  dead: 'M8 2.2l6.2 11H1.8zM8 6.4v3.2M8 11.5v.1',
  bulk: 'M2.5 4h11M2.5 8h11M2.5 12h6M11.5 10.5v3l2.5-1.5z',
  keys: 'M9.2 6.8a3 3 0 1 0-1.4 1.4l.7.7h1.5v1.5h1.5V12H13v-1.8z',
  handlers: 'M2.5 3.5h4v4h-4zM9.5 8.5h4v4h-4zM6.5 5.5h3a2 2 0 0 1 2 2v1',
  deliveries: 'M2.5 8h10M9 4.5L12.5 8 9 11.5',
  breaker: 'M2.5 8h3l4-3.5M10.5 8h3M10.5 6.5v3',
  destinations: 'M8 2.5a5.5 5.5 0 1 1 0 11 5.5 5.5 0 0 1 0-11zM8 6a2 2 0 1 1 0 4 2 2 0 0 1 0-4z',
  endpoints: 'M5.5 6.5a3 3 0 1 1 4.2 2.8l1.6 2.7M8 6.5l-2.2 4.2M5.8 10.7a2.2 2.2 0 1 1-2.6-1.4M6.5 12.5h4.8',
  queues: 'M2.5 5h3v6h-3zM6.5 5h3v6h-3zM10.5 8h3M12 6.5L13.5 8 12 9.5',
  idempotency: 'M5.5 5.5h7v7h-7zM3.5 10.5v-7h7',
  commands: 'M3 4.5l3 3-3 3M8 11h5',
  trace: 'M2.5 4h5M5 8h6M8.5 12h5',
  system: 'M3 3.5h10v4H3zM3 8.5h10v4H3zM5.2 5.5v.1M5.2 10.5v.1',
  audit: 'M4 2.5h8v11H4zM6 5.5h4M6 8h4M6 10.5h2.5',
  search: 'M7 11.5a4.5 4.5 0 1 1 0-9 4.5 4.5 0 0 1 0 9zM10.4 10.4l3.1 3.1',
  menu: 'M2.5 4.5h11M2.5 8h11M2.5 11.5h11',
  close: 'M4 4l8 8M12 4l-8 8',
  copy: 'M5.5 5.5h7v7h-7zM3.5 10.5v-7h7',
  check: 'M3.5 8.5l3 3 6-7',
  sun: 'M8 5.2a2.8 2.8 0 1 1 0 5.6 2.8 2.8 0 0 1 0-5.6zM8 1.5v1M8 13.5v1M1.5 8h1M13.5 8h1M3.4 3.4l.7.7M11.9 11.9l.7.7M12.6 3.4l-.7.7M4.1 11.9l-.7.7',
  moon: 'M13 9.5A5.5 5.5 0 0 1 6.5 3a5.5 5.5 0 1 0 6.5 6.5z',
  pause: 'M5.5 3.5v9M10.5 3.5v9',
  play: 'M5 3.5l7 4.5-7 4.5z',
  replay: 'M3 8a5 5 0 1 0 1.6-3.7M3 2.8v2.8h2.8',
  discard: 'M3 4.5h10M6.5 4.5v-2h3v2M4.5 4.5l.6 9h5.8l.6-9',
  edit: 'M3 13l.6-2.8 7-7 2.2 2.2-7 7z',
  more: 'M3.5 8v.1M8 8v.1M12.5 8v.1',
  right: 'M6 3.5L10.5 8 6 12.5',
  back: 'M10 3.5L5.5 8l4.5 4.5',
  out: 'M6.5 3.5h-3v9h3M7 8h6M10.5 5.5L13 8l-2.5 2.5',
  help: 'M6 6a2 2 0 1 1 2.8 1.8c-.5.3-.8.7-.8 1.4M8 11.6v.1',
  open: 'M9 3h4v4M13 3L7.5 8.5M11 9.5V13H3V5h3.5',
  clock: 'M8 2.5a5.5 5.5 0 1 1 0 11 5.5 5.5 0 0 1 0-11zM8 5v3l2 1.5',
  print: 'M4.5 6V2.5h7V6M4.5 11h-2V6h11v5h-2M4.5 9.5h7v4h-7z',
  release: 'M4 7.5h8v6H4zM5.8 7.5V5a2.3 2.3 0 0 1 4.4-1',
  skip: 'M3.5 4l5 4-5 4zM12 4v8',
} as const;

export type IconName = keyof typeof PATHS;

/** A small drawing beside a word; it says nothing to a screen reader, the word does. */
export function Icon({ name }: { readonly name: IconName }): ReactElement {
  return (
    <svg className="icon" viewBox="0 0 16 16" aria-hidden="true">
      <path d={PATHS[name]} />
    </svg>
  );
}
