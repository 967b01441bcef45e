import type { SentryLike } from 'holdfast/telemetry';

/** Stands where `import * as Sentry from '@sentry/node'` stands in a real service, and prints what Sentry would get. */
export const printedSentry: SentryLike = {
  addBreadcrumb: ({ message, data }) => print('breadcrumb', { message, ...data }),
  captureException(error, context) {
    const { name, message } = error as Error;
    print('exception', {
      name,
      message,
      tags: context?.tags,
      extra: context?.extra,
      fingerprint: context?.fingerprint,
    });
  },
  captureMessage: (message, context) => print('message', { message, ...context }),
};

function print(kind: string, fields: object): void {
  console.log(`sentry ${kind} ${JSON.stringify(fields)}`);
}
