// A module whose drill has the name of one that is built in.
import { type Drill, drill } from 'holdfast/drills';

export const drills: readonly Drill[] = [
  drill('soak', { about: 'It rains.', stage: { open: async () => undefined }, run: async () => undefined }),
];
