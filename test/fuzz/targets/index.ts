import type { FuzzTarget } from '../target.ts';
import { DOOR_TARGETS } from './door-targets.ts';
import { NAME_TARGETS } from './name-targets.ts';
import { QSTASH_TARGETS } from './qstash-targets.ts';
import { TEXT_TARGETS } from './text-targets.ts';
import { TIME_TARGETS } from './time-targets.ts';
import { WIRE_TARGETS } from './wire-targets.ts';

/** All parsers that read what others wrote. */
export const TARGETS: readonly FuzzTarget[] = [
  ...TIME_TARGETS,
  ...NAME_TARGETS,
  ...QSTASH_TARGETS,
  ...WIRE_TARGETS,
  ...TEXT_TARGETS,
  ...DOOR_TARGETS,
];
