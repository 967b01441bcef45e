/** A part of the site's navigation. */
export interface NavigationPart {
  readonly title: string;
  /** Paths of pages in the repository; `*` stands for all others of the folder, by name. What is not there is left out. */
  readonly pages: readonly string[];
  /** Shut until one of its pages is open: there are many. */
  readonly isLong?: boolean;
}

/** What stands where, for people who read from the top. A test sees to it that every page is somewhere. */
export const NAVIGATION: readonly NavigationPart[] = [
  { title: 'Begin', pages: ['README.md', 'docs/quick-start.md', 'docs/README.md'] },
  {
    title: 'Concepts',
    pages: [
      'docs/concepts/how-a-message-travels.md',
      'docs/concepts/what-happens-on-failure.md',
      'docs/concepts/order-and-held-keys.md',
      'docs/concepts/leases-and-fences.md',
      'docs/concepts/idempotency.md',
      'docs/guarantees.md',
      'docs/outages.md',
      'docs/limits.md',
    ],
  },
  {
    title: 'Guides',
    pages: [
      'docs/guides/send-in-a-transaction.md',
      'docs/guides/handle-exactly-once.md',
      'docs/guides/keep-order-by-key.md',
      'docs/guides/retry-an-http-call.md',
      'docs/guides/accept-idempotency-keys.md',
      'docs/guides/receive-webhooks.md',
      'docs/guides/deliver-webhooks.md',
      'docs/guides/connect-a-broker.md',
      'docs/guides/replay-dead-letters.md',
      'docs/guides/run-durable-commands.md',
      'docs/guides/schedule.md',
      'docs/guides/run-in-production.md',
      'docs/guides/watch-and-alert.md',
      'docs/guides/test-your-handlers.md',
      'docs/guides/*',
    ],
  },
  {
    title: 'Coming from',
    pages: [
      'docs/migrate/pg-boss.md',
      'docs/migrate/graphile-worker.md',
      'docs/migrate/bullmq.md',
      'docs/migrate/qstash.md',
      'docs/migrate/hand-written-outbox.md',
      'docs/migrate/*',
      'docs/names.md',
    ],
  },
  {
    title: 'On call',
    pages: [
      'docs/reliability.md',
      'docs/runbooks/alerts.md',
      'docs/runbooks/event-substrate.md',
      'docs/runbooks/broker-loss.md',
      'docs/runbooks/*',
      'docs/console.md',
      'docs/overview.md',
      'docs/trace.md',
      'docs/deployment-checklist.md',
      'docs/drills.md',
      'docs/observability/README.md',
      'docs/mcp.md',
    ],
  },
  {
    title: 'All of it',
    pages: [
      'docs/outbox.md',
      'docs/orm.md',
      'docs/handlers.md',
      'docs/dead-letters.md',
      'docs/commands.md',
      'docs/retry.md',
      'docs/http.md',
      'docs/streams.md',
      'docs/idempotency.md',
      'docs/dedup-windows.md',
      'docs/signed-jobs.md',
      'docs/delivery.md',
      'docs/webhook-endpoints.md',
      'docs/schedules.md',
      'docs/transports.md',
      'docs/rabbitmq.md',
      'docs/kafka.md',
      'docs/nats.md',
      'docs/mongodb.md',
      'docs/telemetry.md',
      'docs/server.md',
      'docs/embedded.md',
      'docs/testing.md',
      'docs/timeouts.md',
      'docs/data-care.md',
      'docs/threat-model.md',
      'SECURITY.md',
      'docs/*',
    ],
    isLong: true,
  },
  {
    title: 'Look up',
    pages: [
      'docs/cli.md',
      'docs/errors.md',
      'docs/requirements.md',
      'docs/bench.md',
      'docs/architecture.md',
      'CONTRIBUTING.md',
    ],
  },
  {
    title: 'API reference',
    pages: ['docs/reference/README.md', 'docs/reference/holdfast.md', 'docs/reference/*'],
    isLong: true,
  },
  { title: 'Examples', pages: ['examples/*/README.md'], isLong: true },
  { title: 'Decisions', pages: ['docs/decisions/README.md', 'docs/decisions/*'], isLong: true },
];

/** The parts with the pages that are there. A page stands once, at the first place that names it; a place that says `*` comes last. */
export function navigationOf(
  parts: readonly NavigationPart[],
  there: readonly string[],
): { readonly title: string; readonly isLong: boolean; readonly pages: readonly string[] }[] {
  const named = new Set(parts.flatMap(({ pages }) => pages.filter((page) => !page.includes('*'))));
  const left = new Set(there.filter((page) => !named.has(page)));
  return parts
    .map(({ title, pages, isLong = false }) => ({
      title,
      isLong,
      pages: pages.flatMap((page) => {
        if (!page.includes('*')) return there.includes(page) ? [page] : [];
        const pattern = new RegExp(`^${page.replaceAll('.', String.raw`\.`).replace('*', '[^/]+')}$`);
        const found = [...left].filter((one) => pattern.test(one)).toSorted();
        for (const one of found) left.delete(one);
        return found;
      }),
    }))
    .filter(({ pages }) => pages.length > 0);
}

/** Where a page of the repository is in the site. */
export function addressOf(page: string): string {
  if (page === 'README.md') return 'index.html';
  if (page === 'docs/README.md') return 'contents.html';
  return page
    .replace(/^docs\//, '')
    .replace(/^(examples\/[^/]+)\/README\.md$/, '$1.html')
    .replace(/README\.md$/, 'index.html')
    .replace(/\.md$/, '.html')
    .toLowerCase();
}
