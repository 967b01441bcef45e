import type { DeliveryForecast } from '../../operator/forecast.ts';
import { CliError, EXIT } from '../cli-error.ts';
import type { Command, Invocation } from '../command.ts';
import { formatAge } from '../duration.ts';
import { openOperator } from '../open-operator.ts';
import { describeRefusal } from '../refusal.ts';

/** `holdfast why <id>`: why a message is not done, and what is left of its retry plan. */
export const why: Command = {
  name: 'why',
  summary: 'Why is this message not done, and when is it tried again?',
  args: { usage: '<id>', min: 1, max: 1 },
  options: {},
  details: [
    'The forecast assumes that each attempt fails at once and that handlers have the default policy: what they',
    'declare is in their code, not in the database.',
  ],
  examples: ['holdfast why 0199f2d6-7c1e-7b33-a4a8-2f1f0c9d5b11'],
  run: async (invocation) => {
    const [id = ''] = invocation.args;
    const operator = await openOperator(invocation);
    const answer = await operator.why(id);
    if (answer.kind !== 'why') throw new CliError(describeRefusal(answer, id));
    const forecast = await operator.forecast(id);
    const plans = forecast.kind === 'forecast' ? forecast.deliveries : [];
    const nowMs = forecast.kind === 'forecast' ? forecast.at.getTime() : invocation.io.effects.now().wallMs;
    const deliveries = answer.deliveries.map((one) =>
      Object.assign({}, one, { forecast: plans.find((plan) => plan.id === one.id) }),
    );
    invocation.output.answer({ id, deliveries }, () => {
      for (const { service, handler, reason, sentence, forecast: plan } of deliveries) {
        const { output } = invocation;
        const name = handler === undefined ? 'no handler' : `${service ?? ''}/${handler}`;
        output.line(`${output.paint.bold(name)}  ${reason.kind}`);
        output.fields([['', sentence]]);
        if (plan !== undefined && plan.attempts.length > 0) showPlan(invocation, plan, nowMs);
      }
    });
    return EXIT.ok;
  },
};

/** More rows tell a reader nothing. */
const SHOWN = 10;

function showPlan({ output }: Invocation, plan: DeliveryForecast, nowMs: number): void {
  output.line();
  output.table(plan.attempts.slice(0, SHOWN), [
    { title: 'ATTEMPT', value: (one) => one.attempt, align: 'right' },
    { title: 'EARLIEST', value: (one) => formatAge(one.earliest.getTime(), nowMs) },
    { title: 'LATEST', value: (one) => one.latest && formatAge(one.latest.getTime(), nowMs) },
  ]);
  if (plan.attempts.length > SHOWN) output.line(`… and ${plan.attempts.length - SHOWN} more`);
  output.line(plan.end === 'endless' ? 'and so on, without end' : `then it is a dead letter (${plan.end})`);
  output.line();
}
