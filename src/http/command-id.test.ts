import { expect, test } from 'vitest';
import { commandId } from './command-id.ts';

test('the same session and key give the same command id, here and everywhere [S0.6]', async () => {
  // Written down, so that a release that computed it otherwise would run every open prompt a second time.
  expect(await commandId('ses_1', 'opencode:user_123:run_456:interview-plan:prompt-v4')).toBe(
    'msg_9a0040e3aa31c60a0ef7b4c4b65ca0a0',
  );
});

test('another session, another key or a shifted border give another id [S0.6]', async () => {
  const ids = await Promise.all([
    commandId('s', 'k'),
    commandId('s', 'k2'),
    commandId('s2', 'k'),
    commandId('s","', 'k'),
    commandId('', 'sk'),
  ]);
  expect(new Set(ids).size).toBe(5);
  for (const id of ids) expect(id).toMatch(/^msg_[0-9a-f]{32}$/);
});
