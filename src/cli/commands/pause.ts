import { EXIT } from '../cli-error.ts';
import type { Command } from '../command.ts';
import { byWhom, openOperator } from '../open-operator.ts';

const options = { reason: { value: '<text>', summary: 'why, for the audit' } };

/** `holdfast pause`: nothing is started anywhere. */
export const pause: Command = {
  name: 'pause',
  summary: 'Pause everything: nothing is started anywhere, sending goes on.',
  options,
  examples: [`holdfast pause --reason 'payments are down'`],
  run: async (invocation) => {
    const outcome = await (await openOperator(invocation)).pauseAll(byWhom(invocation));
    invocation.output.answer(outcome, () => {
      invocation.output.line(
        outcome.kind === 'already-paused'
          ? 'Everything was paused already.'
          : 'Everything is paused. holdfast resume goes on.',
      );
    });
    return EXIT.ok;
  },
};

/** `holdfast resume`: ends the pause. */
export const resume: Command = {
  name: 'resume',
  summary: 'End the pause of everything; handlers that were paused one by one stay paused.',
  options,
  examples: ['holdfast resume'],
  run: async (invocation) => {
    const outcome = await (await openOperator(invocation)).resumeAll(byWhom(invocation));
    invocation.output.answer(outcome, () => {
      invocation.output.line(outcome.kind === 'not-paused' ? 'Nothing was paused.' : 'Work goes on.');
    });
    return EXIT.ok;
  },
};
