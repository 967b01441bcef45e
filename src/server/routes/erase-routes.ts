import { get, post, type Route } from '../route.ts';
import { described, flag, list, optional, text, words } from '../schema.ts';
import { ERASING, ERASURE_COUNTS, ERASURES } from '../schemas/erase-schemas.ts';
import { PAYLOAD_MATCH } from '../schemas/work-schemas.ts';
import { NEEDED_REASON } from './shared-fields.ts';

const SUBJECT = {
  person: described(optional(words(150)), 'Whose data. Or payload.'),
  payload: described(optional(list(PAYLOAD_MATCH)), 'All messages with these values. Or person.'),
  open: described(optional(flag), 'Also what is not done yet: it is given up.'),
  services: described(optional(list(text)), 'Services whose idempotency records are searched as well.'),
} as const;

export const ERASE_ROUTES: readonly Route[] = [
  post({
    id: 'previewErase',
    path: 'api/erasures/preview',
    role: 'admin',
    summary: 'How much is known of somebody. Changes nothing.',
    body: SUBJECT,
    answer: ERASURE_COUNTS,
    run: ({ operator, body }) =>
      operator.previewErase(
        { person: body.person, payload: body.payload },
        { open: body.open, services: body.services },
      ),
  }),
  post({
    id: 'erase',
    path: 'api/erasures',
    role: 'admin',
    summary: 'Erases what is known of somebody. While the answer is running, ask again.',
    body: { ...SUBJECT, ...NEEDED_REASON },
    answer: ERASING,
    run: ({ operator, body, by }) =>
      operator.erase(
        { person: body.person, payload: body.payload },
        { ...by, reason: body.reason },
        { open: body.open, services: body.services },
      ),
  }),
  get({
    id: 'listErasures',
    path: 'api/erasures',
    role: 'admin',
    summary: 'Erasures, the newest first. They do not say whose.',
    answer: ERASURES,
    run: ({ operator }) => operator.erasures(),
  }),
];
