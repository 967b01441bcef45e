// The worker of the backend: runs commands, calls the other services, and tells what happened.
import { durableCommands } from 'holdfast/commands';
import { postgresCommands } from 'holdfast/postgres';
import { untilSignal } from '../../local-processes/until-signal.ts';
import { growthService } from '../growth-service.ts';
import { readSettings } from '../settings.ts';
import { type ModuleId, runModuleCommand } from '../workflow/run-module.ts';
import { makeClients } from './clients.ts';
import { documentModule } from './document-module.ts';
import { interviewModule } from './interview-module.ts';
import type { Module } from './module.ts';
import { planModule } from './plan-module.ts';

const ALL: Readonly<Record<ModuleId, Module>> = {
  interview: interviewModule,
  plan: planModule,
  document: documentModule,
};

const settings = readSettings();
const { hf, pool, logger, facts, startOptions, close } = growthService('workflows', 'worker', settings);
const commands = durableCommands({ holdfast: hf, store: postgresCommands({ pool }) });
const tools = { hf, pool, clients: makeClients(settings, { logger, onAttempt: facts.call }) };
commands.handle(runModuleCommand(settings.speed), (payload, ctx) => ALL[payload.moduleId](payload, ctx, tools));
const running = await hf.start(startOptions);
console.log('worker is ready: it runs the modules of workflow runs');

await untilSignal();
await running.stop();
await close();
