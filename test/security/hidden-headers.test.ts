import { describe, expect } from 'vitest';
import { as } from '../server/serving.ts';
import { needs } from '../support/needs.ts';
import { ALWAYS, foundIn, HIDDEN_BELOW_ADMIN, plant, serve } from './planted.ts';

const test = needs('postgres');

describe('headers of messages and deliveries', () => {
  test('that are secrets by their names are shown to nobody, whichever page, tool or spelling [X.9]', async ({
    postgres,
  }) => {
    const planted = await plant(postgres);
    const { url, agent } = await serve(planted);
    const { deliveryId, messageId, dlqId } = planted;
    for (const role of ['viewer', 'operator', 'admin'] as const) {
      for (const path of [
        `messages/${deliveryId}`,
        `messages/${messageId}`,
        `delivery/messages/${deliveryId}`,
        `delivery/dead/${dlqId}`,
        'delivery/log',
        'delivery/schedules',
        'delivery/endpoints',
        'delivery/url-groups',
        'audit',
      ]) {
        const response = await fetch(`${url}/api/${path}`, { headers: as(role) });
        expect(response.status, path).toBe(200);
        expect(foundIn(await response.text(), ALWAYS), `${role} ${path}`).toEqual([]);
      }
      const shown = await (await agent(role)).call('get_dlq_event_detail', { id: deliveryId });
      expect(shown.isError).toBe(false);
      expect(foundIn(shown.text, ALWAYS), `${role} agent`).toEqual([]);
      expect(shown.text).toContain('Accept');
    }
  });

  test('that a rule names are hidden on both pages, however either is spelled [X.9]', async ({ postgres }) => {
    const planted = await plant(postgres);
    const { deliveryId, messageId } = planted;
    for (const rule of ['headers.x-user-email', 'Headers.X-USER-EMAIL']) {
      const { url } = await serve(planted, { redact: [rule] });
      for (const path of [
        `messages/${deliveryId}`,
        `messages/${messageId}`,
        `delivery/messages/${deliveryId}`,
        'delivery/log',
        'delivery/endpoints',
      ]) {
        const read = async (role: 'viewer' | 'admin'): Promise<string> =>
          (await fetch(`${url}/api/${path}`, { headers: as(role) })).text();
        expect(await read('viewer'), path).not.toContain(HIDDEN_BELOW_ADMIN.userEmail);
        expect(await read('viewer'), path).toContain('[redacted]');
        expect(await read('admin'), path).toContain(HIDDEN_BELOW_ADMIN.userEmail);
      }
    }
  });
});
