import type { ApiRoute } from '../route.ts';

/**
 * The keys that deliveries are signed by. For admins: whoever has them can sign in this server's name, and an id with dot segments in
 * it leads a client here.
 */
export const KEY_ROUTES: readonly ApiRoute[] = [
  {
    method: 'GET',
    path: 'keys',
    scope: 'admin',
    run: async ({ deliveries }) => {
      const { current, next } = await deliveries.signingKeys.get();
      return { value: { current, next } };
    },
  },
  {
    method: 'POST',
    path: 'keys/rotate',
    scope: 'admin',
    run: async ({ deliveries }) => {
      const { current, next } = await deliveries.signingKeys.rotate();
      return { value: { current, next } };
    },
  },
];
