import type { ReactElement } from 'react';
import { StateGlyph, toneOf, wordOf } from '../parts/state-mark.tsx';

/** How each handler of a message stands, as letters with a colour; in words on hover and for who cannot see it. */
export function DeliveryDots({
  deliveries,
}: {
  readonly deliveries: readonly {
    readonly service?: string | undefined;
    readonly handler?: string | undefined;
    readonly status: string;
  }[];
}): ReactElement {
  if (deliveries.length === 0) return <span className="muted">–</span>;
  return (
    <span className="dots">
      {deliveries.map(({ service, handler, status }) => {
        const name = handler === undefined ? 'no handler' : `${service ?? ''}/${handler}`;
        return (
          <span key={name} className={`chip tone-${toneOf(status)}`} title={`${name}: ${wordOf(status)}`}>
            <StateGlyph state={status} />
            {handler ?? 'no handler'}
            <span className="hidden">: {wordOf(status)}</span>
          </span>
        );
      })}
    </span>
  );
}
