import { randomUUID } from 'node:crypto';
import { createInterface } from 'node:readline/promises';
import { parseArgs, styleText } from 'node:util';
import { terminalRetryNotice } from 'holdfast/retry-notice';
import { type ChatEvent, openChat } from './page/chat-client.js';
import { failureWords } from './page/failure-words.js';
import type { TurnFailure, TurnOutcome } from './turn-event.ts';

const HELP = `Talk to the agent chat from a terminal.

  npm start -- terminal [options]

  --url <address>          where the chat server is; default http://localhost:3000
  --transport <ws|lines>   WebSocket (default) or HTTP lines
  --conversation <id>      go on with a conversation, for example the one in a page's address
  --help                   this text

While the provider is waited for, press c or Ctrl-C to cancel. Ctrl-D or an empty line ends the chat.
`;

const CTRL_C = '\u0003';
const ESCAPE = '\u001B';

const options = readOptions();
const notice = terminalRetryNotice(process.stderr);
let turnId: string | undefined;
let agentSpeaks = false;
let turnEnded: (outcome: TurnOutcome) => void = () => undefined;

await checkServer();
const chat = await join();
const interactive = process.stdin.isTTY && process.stdout.isTTY;
process.on('SIGINT', () => cancel() || leave(130));
if (interactive) {
  console.log(styleText('dim', `Connected to ${options.url} over ${options.transport}. An empty line ends the chat.`));
  await talk();
} else {
  for await (const line of createInterface({ input: process.stdin })) await ask(line);
}
leave(0);

/** Asks until the person has nothing more to say. */
async function talk(): Promise<void> {
  for (;;) {
    // One reader for each question: between two of them the keys belong to the turn.
    const reader = createInterface({ input: process.stdin, output: process.stdout });
    const line = await new Promise<string>((resolve) => {
      reader.once('close', () => resolve(''));
      void reader.question(styleText('bold', 'you › ')).then(resolve, () => resolve(''));
    });
    reader.close();
    if (line.trim() === '') return;
    const letGo = listenForCancel();
    await ask(line);
    letGo();
  }
}

function ask(line: string): Promise<TurnOutcome> | undefined {
  if (line.trim() === '') return undefined;
  const ended = new Promise<TurnOutcome>((resolve) => {
    turnEnded = resolve;
  });
  if (!chat.ask(line)) fail('The connection is gone; start again.');
  return ended;
}

/** Reads single keys until it is let go. */
function listenForCancel(): () => void {
  process.stdin.setRawMode(true);
  process.stdin.on('data', onKey);
  process.stdin.resume();
  return () => {
    process.stdin.off('data', onKey);
    process.stdin.setRawMode(false);
  };
}

function onKey(data: Buffer): void {
  const key = data.toString('utf8');
  if (key === 'c' || key === CTRL_C || key === ESCAPE) cancel();
}

function cancel(): boolean {
  return turnId !== undefined && chat.cancel(turnId);
}

function show(event: ChatEvent): void {
  switch (event.type) {
    case 'turn-start':
      turnId = event.turnId;
      return;
    case 'provider-retry':
      return notice.show(event);
    case 'text':
      notice.clear();
      if (!agentSpeaks) process.stdout.write(styleText('bold', 'agent › '));
      agentSpeaks = true;
      process.stdout.write(printable(event.text));
      return;
    case 'error':
      return sayFailure(event);
    case 'turn-end':
      if (event.outcome === 'aborted') say('dim', 'Cancelled. The provider is not asked again.');
      else if (agentSpeaks) process.stdout.write('\n');
      notice.clear();
      agentSpeaks = false;
      turnId = undefined;
      return turnEnded(event.outcome);
    case 'refused':
      say('red', event.message);
      return turnEnded('failed');
    case 'conversation':
    case 'provider-retry-end':
      return;
    default:
      return event satisfies never;
  }
}

/** A line of its own, whatever stood there before. */
function say(style: 'red' | 'dim', text: string): void {
  notice.clear();
  console.log(`${agentSpeaks ? '\n' : ''}${styleText(style, text)}`);
  agentSpeaks = false;
}

function sayFailure(failure: TurnFailure): void {
  const { title, text, detail } = failureWords(failure);
  say('red', `${title}: ${printable(text)}`);
  if (detail !== undefined) console.log(styleText('dim', printable(detail)));
}

/** Without control codes: what a provider says must not steer the terminal. */
function printable(text: string): string {
  return text.replace(/[^\P{Control}\n\t]/gu, '');
}

function join(): Promise<ReturnType<typeof openChat>> {
  return new Promise((resolve) => {
    const opened = openChat({
      url: options.url,
      transport: options.transport,
      conversationId: options.conversationId,
      onEvent(event) {
        show(event);
        if (event.type === 'conversation') resolve(opened);
      },
      onConnection(state) {
        if (state === 'lost') say('dim', 'Connection lost, trying again.');
      },
    });
  });
}

async function checkServer(): Promise<void> {
  try {
    const response = await fetch(new URL('/provider', options.url));
    if (response.ok) return;
  } catch {
    // The next line says it better than the error.
  }
  fail(`There is no chat server at ${options.url}. Start one with "npm start", or give its address with --url.`);
}

function readOptions(): { url: string; transport: 'ws' | 'lines'; conversationId: string } {
  const { url, transport, conversation, help } = parse();
  if (help) {
    process.stdout.write(HELP);
    process.exit(0);
  }
  if (!URL.canParse(url)) fail(`--url is "${url}"; write an address such as http://localhost:3000`);
  if (transport !== 'ws' && transport !== 'lines') fail(`--transport is "${transport}"; write ws or lines`);
  return { url, transport, conversationId: conversation ?? randomUUID() };
}

function parse(): { url: string; transport: string; conversation: string | undefined; help: boolean } {
  try {
    const { values } = parseArgs({
      options: {
        url: { type: 'string', default: 'http://localhost:3000' },
        transport: { type: 'string', default: 'ws' },
        conversation: { type: 'string' },
        help: { type: 'boolean', short: 'h', default: false },
      },
    });
    return { ...values, conversation: values.conversation };
  } catch (error) {
    fail(`${(error as Error).message}\n\n${HELP}`);
  }
}

function leave(code: number): never {
  notice.stop();
  chat.close();
  process.exit(code);
}

function fail(message: string): never {
  process.stderr.write(`${message}\n`);
  process.exit(1);
}
