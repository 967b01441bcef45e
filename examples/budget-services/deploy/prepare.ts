// node examples/budget-services/deploy/prepare.ts: makes the schemas, the collections and the topics, once for each release, before its processes are started.
import { SettingsError } from '../../local-processes/environment.ts';
import { reachServers, UnreachableError } from '../../local-processes/reach-server.ts';
import { readSettings } from '../parts/settings.ts';
import { prepare } from '../prepare.ts';
import { serversOf } from '../servers.ts';

try {
  const settings = readSettings();
  await reachServers(serversOf(settings));
  await prepare(settings);
  console.log('Schemas, collections and topics are there.');
} catch (error) {
  const isExpected = error instanceof SettingsError || error instanceof UnreachableError;
  if (!isExpected) throw error;
  console.error(error.message);
  process.exitCode = 1;
}
