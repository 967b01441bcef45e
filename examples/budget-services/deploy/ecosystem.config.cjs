// The budget services under pm2, one app for each process. In the repository's root, after `npm run build`, with DATABASE_URL, MONGODB_URL,
// REDIS_URL, RABBITMQ_URL and KAFKA_BROKERS in the environment, which pm2 hands on to the apps:
//   node examples/budget-services/deploy/prepare.ts
//   pm2 start examples/budget-services/deploy/ecosystem.config.cjs
const path = require('node:path');

const root = path.resolve(__dirname, '../../..');
const example = path.join(root, 'examples/budget-services');

/** An app of one process: a second one of the same would find its port taken. */
const app = (name, script, args = []) => ({
  name,
  script,
  args,
  cwd: root,
  exec_mode: 'fork',
  // The Node that runs pm2. For .ts, pm2 would look for bun.
  interpreter: process.execPath,
  // Longer than the 10 s in which a relay finishes what it has begun; only then it is killed.
  kill_timeout: 15_000,
  exp_backoff_restart_delay: 100,
});

const relay = ['relay', '--drain', '10s', '--config', path.join(example, 'orders/holdfast.config.ts')];

module.exports = {
  apps: [
    app('transactions', path.join(example, 'transactions/main.ts')),
    app('expenses', path.join(example, 'expenses/main.ts')),
    app('orders', path.join(example, 'orders/main.ts')),
    app('orders-relay', path.join(root, 'dist/cli/main.js'), relay),
  ],
};
