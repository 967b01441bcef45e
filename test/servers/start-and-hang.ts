// node start-and-hang.ts <port> <folder>: starts a private server, says so, and waits to be killed.
import { isListening, startPrivate } from '../support/private-server.ts';

const [port = '', folder = ''] = process.argv.slice(2);
await startPrivate({
  name: 'echo',
  folder,
  server: [process.execPath, '--eval', `require('net').createServer().listen(${port}, '127.0.0.1')`],
  probe: async () => {
    if (!(await isListening(Number(port)))) throw new Error('not yet');
  },
});
console.log('started');
