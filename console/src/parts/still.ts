import { useState } from 'react';

/** What the frame of a list is given so that `isStill` is known. */
export interface StillHandlers {
  readonly onPointerEnter: () => void;
  readonly onPointerLeave: () => void;
}

/** True while somebody points at a list: it is not read again meanwhile, so that no row moves away under the pointer. */
export function useStill(): readonly [isStill: boolean, handlers: StillHandlers] {
  const [isStill, setStill] = useState(false);
  return [isStill, { onPointerEnter: () => setStill(true), onPointerLeave: () => setStill(false) }];
}
