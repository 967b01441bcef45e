import { askedPort, startOnAskedPort } from '../local-page/free-port.ts';
import { numberSetting } from '../local-page/number-setting.ts';
import { startProvider } from './provider.ts';
import { startChatServer } from './server.ts';

const speed = numberSetting('HOLDFAST_CHAT_SCALE', /^\d+(\.\d+)?$/, [1, 100_000], 'a number') ?? 1;
const asked = askedPort();
const provider = await startProvider();
const server = await startOnAskedPort(asked, (port) => startChatServer({ provider, port, speed }));

console.log(`
  Agent chat with an overloaded provider

  Open      ${server.url}
  Terminal  npm start -- terminal --url ${server.url}
  Stop      Ctrl-C
${speed === 1 ? '' : `\n  Waits are ${speed} times shorter than real.\n`}`);

process.on('SIGINT', stop);
process.on('SIGTERM', stop);

/** Ends at once, also in the middle of a wait; asked twice, it does the same. */
function stop(): void {
  Promise.all([server.close(), provider.close()]).then(
    () => process.exit(0),
    (error: unknown) => {
      console.error(error);
      process.exit(1);
    },
  );
}
