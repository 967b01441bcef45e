import { COMMANDS } from '../../../src/cli/all-commands.ts';
import { CliError } from '../../../src/cli/cli-error.ts';
import { databaseTarget, withoutSecrets } from '../../../src/cli/database-target.ts';
import { GLOBAL_OPTIONS, parseLine } from '../../../src/cli/parse-line.ts';
import { readCursor, writeCursor } from '../../../src/commands/event-cursor.ts';
import { readKeyHeader } from '../../../src/idempotency/http/key-header.ts';
import { isHoldfastError } from '../../../src/kernel/error.ts';
import { idempotencyKey, parseIdempotencyKey } from '../../../src/kernel/idempotency-key.ts';
import { isBadId, parseDeliveryId } from '../../../src/operator/delivery-id.ts';
import { parseMessageQuery } from '../../../src/operator/message-query.ts';
import { matchRoutes } from '../../../src/server/match-route.ts';
import { ALL_ROUTES } from '../../../src/server/routes/all-routes.ts';
import { parseTraceparent } from '../../../src/telemetry/traceparent.ts';
import { type FuzzTarget, unlessRefused, wrong } from '../target.ts';

const NOW = Date.UTC(2026, 10, 16, 10);
const ID = '0198c0de-0000-7000-8000-00000000000a';
const isCliError = (error: unknown): boolean => error instanceof CliError && error.message.length < 6_000;

/** Keys, ids, queries and command lines. */
export const NAME_TARGETS: readonly FuzzTarget[] = [
  {
    name: 'idempotency-key-header',
    seeds: ['"8e03978e-40d5-43dd-bc93-6894a57f9324"', 'plain-key', String.raw`"a\"b\\c"`, '"a", "b"', 'a;b=1'],
    words: ['"', '\\"', '\\\\', ',', ';', ' '],
    check: (text) => {
      const read = readKeyHeader([text]);
      if (read.kind !== 'key') return;
      const again = readKeyHeader([`"${read.key.replaceAll(/["\\]/g, String.raw`\$&`)}"`]);
      if (again.kind !== 'key' || again.key !== read.key) wrong('quoted it is another key');
      if (read.key.length > 255) wrong('the key is too long');
    },
  },
  {
    name: 'idempotency-key',
    seeds: ['billing:user_1:ord_1:charge:v1', 'a:b:c:module:resume:v2', 'a:b:c:d'],
    words: [':', 'v1', ' '],
    check: (text) => {
      const parts = unlessRefused(
        () => parseIdempotencyKey(text),
        (error) => isHoldfastError(error, 'BAD_IDEMPOTENCY_KEY'),
      );
      if (parts && idempotencyKey(parts) !== text) wrong('its parts make another key');
    },
  },
  {
    name: 'traceparent',
    seeds: [
      '00-0af7651916cd43dd8448eb211c80319c-b7ad6b7169203331-01',
      'cc-0af7651916cd43dd8448eb211c80319c-b7ad6b7169203331-01-more',
    ],
    words: ['00', 'ff', '-', '0', 'a'],
    check: (text) => {
      const read = parseTraceparent(text);
      if (!read) return;
      const flags = read.traceFlags.toString(16).padStart(2, '0');
      if (!text.includes(`-${read.traceId}-${read.spanId}-${flags}`)) wrong('it says something else');
    },
  },
  {
    name: 'delivery-id',
    seeds: [ID, `${ID}:3`, `${ID.toUpperCase()}:32767`],
    words: [':', '-', '0', '99999'],
    check: (text) => {
      const read = parseDeliveryId(text);
      if (isBadId(read)) return;
      const written = `${read.messageId}${read.handler === undefined ? '' : `:${read.handler}`}`;
      const again = parseDeliveryId(written);
      if (isBadId(again) || again.messageId !== read.messageId || again.handler !== read.handler) wrong('it changes');
    },
  },
  {
    name: 'command-cursor',
    seeds: [`${ID}.1`, `${ID}.1 ${ID.replace('a', 'b')}.22`],
    words: ['.', ' ', '0'],
    check: (text) => {
      const places = unlessRefused(
        () => readCursor('after', text),
        (error) => isHoldfastError(error, 'INVALID_OPTIONS'),
      );
      if (places && writeCursor(readCursor('after', writeCursor(places))) !== writeCursor(places)) wrong('it changes');
    },
  },
  {
    name: 'message-query',
    seeds: [
      'type:order.* status:failed payload.customer.id:42 since:2h',
      'key:"two \\"words"',
      ID,
      'payload.a:"1" payload.b:null',
      'until:2026-01-01',
    ],
    words: [
      'type:',
      'key:',
      'status:',
      'since:',
      'until:',
      'payload.',
      'payload',
      'error:',
      'id:',
      '"',
      '\\"',
      ' ',
      '*',
      '2h',
      '.',
    ],
    check: (text) => {
      const { filter, problems } = parseMessageQuery(text, NOW);
      if (Object.getPrototypeOf(filter) !== Object.prototype) wrong('the filter is no plain object');
      for (const { at, part } of problems) if (!text.startsWith(part, at)) wrong(`no ${part} at ${at}`);
      for (const { path } of filter.payload ?? []) if (path.length === 0) wrong('a path has no parts');
      for (const time of [filter.since, filter.until])
        if (time !== undefined && Number.isNaN(time.getTime())) wrong('a time is none');
    },
  },
  {
    name: 'command-line',
    seeds: [
      'stats --json',
      `why ${ID}`,
      'dlq:peek --limit 5 --handler=charge',
      'replay --help',
      '--version',
      'messages -- --x',
    ],
    words: [
      '--',
      '-',
      '=',
      ' ',
      '--json',
      '--url',
      '--constructor',
      '--toString',
      '--__proto__',
      'stats',
      'why',
      'dlq:replay',
      '--id',
    ],
    check: (text) => {
      const argv = text.split(' ');
      const line = unlessRefused(() => parseLine(argv, COMMANDS), isCliError);
      if (!line) return;
      const known = { ...GLOBAL_OPTIONS, ...line.command?.options };
      const end = argv.indexOf('--');
      for (const word of end < 0 ? argv : argv.slice(0, end)) {
        const name = /^--([^=]+)/.exec(word)?.[1];
        if (name !== undefined && line.options.has(name) && !Object.hasOwn(known, name)) wrong(`it takes --${name}`);
      }
    },
  },
  {
    name: 'database-url',
    seeds: [
      'postgres://user:pass-word@host:5432/db?sslmode=require',
      'postgresql:///db?host=/var/run&user=me&password=pass-word',
      'postgres://u:p%40ss@[::1]/a%2Fb',
      'DATABASE_URL=x',
    ],
    words: ['postgres://', '@', ':', '/', '?', '%', '%40', '&', 'password=', 'host=', '[::1]'],
    check: (text) => {
      const env = {};
      const target = unlessRefused(() => databaseTarget(text, { env }), isCliError);
      if (!target) return;
      if (!Number.isInteger(target.port) || target.port < 0 || target.port > 65_535) wrong(`port ${target.port}`);
      const { password } = target;
      if (password === undefined || password.length < 5 || !/^\w+$/.test(password)) return;
      if (withoutSecrets(`could not connect, password "${password}" was wrong`, target).includes(`"${password}"`))
        wrong('the password is shown');
    },
  },
  {
    name: 'operator-path',
    seeds: ['api/messages', `api/messages/${ID}/replay`, 'api/handlers/a%20b/pause', 'api/breakers/x/y'],
    words: ['/', '%', '%2F', '..', ':', 'messages', 'handlers'],
    check: (text) => {
      for (const { route, params } of matchRoutes(ALL_ROUTES, text)) {
        const names = route.path.split('/').filter((part) => part.startsWith(':'));
        if (Object.keys(params).length !== names.length) wrong('a parameter is missing');
        if (Object.values(params).includes('')) wrong('a parameter is empty');
      }
    },
  },
];
