import { secondsText } from '../deliveries/delivery-request.tsx';
import { counted } from '../parts/figures.ts';
import { instantOf } from '../parts/span-of-time.ts';
import type { Act, ActField } from '../shell/acts.tsx';
import type { Endpoint } from './endpoints-page.tsx';

const at = (id: string, verb: string): string => `delivery/endpoints/${encodeURIComponent(id)}/${verb}`;

const linesOf = (text: string): readonly string[] =>
  text
    .split(/[\n,]/)
    .map((line) => line.trim())
    .filter((line) => line !== '');

/** `Name: value`, one a line. */
function headersOf(text: string): Readonly<Record<string, string>> {
  const pairs = text.split('\n').map((line) => {
    const colon = line.indexOf(':');
    return [line.slice(0, colon === -1 ? undefined : colon).trim(), colon === -1 ? '' : line.slice(colon + 1).trim()];
  });
  return Object.fromEntries(pairs.filter(([name]) => name !== '')) as Readonly<Record<string, string>>;
}

/** What is emptied is taken back, and not kept. */
function fields(before?: Endpoint): readonly ActField[] {
  const none = before === undefined ? undefined : null;
  return [
    {
      kind: 'text',
      name: 'url',
      label: 'URL',
      isNeeded: true,
      initial: before?.url,
      example: 'https://example.com/hooks',
    },
    {
      kind: 'text',
      name: 'description',
      label: 'Description',
      initial: before?.description,
      read: (text) => (text === '' ? none : text),
    },
    {
      kind: 'text',
      name: 'eventTypes',
      label: 'Event types',
      isLong: true,
      initial: before?.eventTypes.join('\n'),
      example: 'order.*\ninvoice.paid',
      hint: 'One a line; order.* is all below. Empty: all events.',
      read: linesOf,
    },
    {
      kind: 'text',
      name: 'headers',
      label: 'Headers',
      isLong: true,
      initial: Object.entries(before?.headers ?? {})
        .map(([name, value]) => `${name}: ${value}`)
        .join('\n'),
      example: 'X-Tenant: 7',
      hint: `Name: value, one a line, sent with every event.${before === undefined ? '' : ' What is [hidden] stays as it is.'}`,
      read: headersOf,
    },
    {
      kind: 'text',
      name: 'retrySeconds',
      label: 'Waits before each retry, in seconds',
      initial: before?.retrySeconds.join(', '),
      example: '5, 300, 1800, 7200',
      ...(before === undefined ? {} : { hint: `Now: ${secondsText(before.retrySeconds)}` }),
      read: (text) => (text === '' ? none : linesOf(text).map(Number)),
    },
    {
      kind: 'number',
      name: 'ratePerSecond',
      label: 'At most so many a second',
      initial: before?.ratePerSecond,
      hint: 'Empty: no limit',
    },
  ];
}

export function createAct(after: (answer: { readonly endpoint: Endpoint }) => void): Act {
  return {
    title: 'New endpoint',
    text: 'It gets a secret of its own, which its page shows.',
    verb: 'Create the endpoint',
    fields: fields(),
    path: 'delivery/endpoints',
    done: () => 'The endpoint is registered.',
    after,
  };
}

export function changeAct(endpoint: Endpoint): Act {
  return {
    title: 'Change the endpoint',
    text: 'What waits for it goes where it is then, with the headers and secrets it has then.',
    verb: 'Save',
    fields: fields(endpoint),
    path: at(endpoint.id, 'update'),
    done: () => 'The endpoint is changed.',
  };
}

export function enableAct({ id }: Endpoint): Act {
  return {
    title: 'Enable the endpoint?',
    text: 'What waited for it goes on, and it gets events again. What it missed meanwhile is not sent: recover sends what failed.',
    verb: 'Enable',
    path: at(id, 'enable'),
    done: () => 'The endpoint is enabled.',
  };
}

export function disableAct({ id }: Endpoint): Act {
  return {
    title: 'Disable the endpoint?',
    text: 'What waits for it goes on waiting; events that are sent from now on are not for it.',
    verb: 'Disable',
    path: at(id, 'disable'),
    done: () => 'The endpoint is disabled.',
    undo: { path: at(id, 'enable'), done: () => 'The endpoint is enabled.' },
  };
}

export function deleteAct({ id, url }: Endpoint, after: () => Promise<void>): Act {
  return {
    title: `Delete ${url}?`,
    text: 'What waits for it is cancelled, and its secrets are gone. This cannot be taken back.',
    verb: 'Delete the endpoint',
    isDanger: true,
    path: at(id, 'delete'),
    done: () => 'The endpoint is deleted.',
    after,
  };
}

export function rotateAct({ id }: Endpoint, after: () => void): Act {
  return {
    title: 'Rotate the secret?',
    text: 'A new secret signs from now on; those before sign beside it for a while, so that the receiver can change over.',
    verb: 'Rotate',
    fields: [
      {
        kind: 'number',
        name: 'graceHours',
        label: 'Hours that the old ones go on',
        initial: 24,
        max: 168,
        hint: 'At most 168: a week',
      },
    ],
    path: at(id, 'rotate'),
    done: () => 'A new secret signs from now on.',
    after,
  };
}

export function recoverAct({ id }: Endpoint): Act {
  return {
    title: 'Recover what failed?',
    text: 'All that has failed for good since then is put back in line, in its order.',
    verb: 'Recover',
    fields: [
      {
        kind: 'text',
        name: 'since',
        label: 'Since',
        isNeeded: true,
        example: '24h',
        hint: 'Such as 90m, 24h, 7d, or a time such as 2026-11-16T07:00Z',
        read: (text) => instantOf(text) ?? text,
      },
    ],
    path: at(id, 'recover'),
    done: ({ count }: { readonly count: number }) => `${counted(count, 'message')} in line again.`,
  };
}

export function testAct({ id }: Endpoint): Act {
  return {
    title: 'Send a test event?',
    text: 'To this endpoint alone, signed as all are. It is listed below with its answer.',
    verb: 'Send',
    fields: [{ kind: 'text', name: 'type', label: 'Type', example: 'test.ping', hint: 'Default: test.ping' }],
    reason: 'none',
    path: at(id, 'test'),
    done: () => 'The test is on its way.',
  };
}

export function resendAct(id: string, messageId: string): Act {
  return {
    title: 'Send this message once more?',
    text: 'Under its id: a receiver that has seen it knows it.',
    verb: 'Resend',
    path: at(id, 'resend'),
    body: { messageId },
    done: () => 'It is sent once more.',
  };
}
