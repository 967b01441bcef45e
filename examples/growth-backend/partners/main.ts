// node main.ts <interview | agent | git | llm>: one of the services that the backend calls, in a process of its own.
import { join } from 'node:path';
import { untilSignal } from '../../local-processes/until-signal.ts';
import { growthLog } from '../growth-log.ts';
import { PARTNERS, type PartnerName, readSettings } from '../settings.ts';
import { codingAgentServer } from './coding-agent-server.ts';
import { gitHostServer } from './git-host-server.ts';
import { interviewService } from './interview-service.ts';
import { llmServer } from './llm-server.ts';
import type { Partner } from './partner.ts';
import { PartnerMemory } from './partner-memory.ts';
import { servePartner } from './partner-server.ts';

const ALL: Readonly<Record<PartnerName, Partner>> = {
  interview: interviewService,
  agent: codingAgentServer,
  git: gitHostServer,
  llm: llmServer,
};

const name = PARTNERS.find((one) => one === process.argv[2]);
if (name === undefined) throw new Error(`name one of ${PARTNERS.join(', ')}`);
const { partners, a2aKey, gitToken, dataDir } = readSettings();
const { port, origin } = partners[name];
const memory = new PartnerMemory(join(dataDir, `${name}.jsonl`));
const token = name === 'git' ? gitToken : a2aKey;
const server = await servePartner({ partner: ALL[name], memory, token, logger: growthLog(name) }, Number(port));
console.log(`${name} is ready: ${origin}`);

await untilSignal();
server.close();
server.closeAllConnections();
