/** Resolves at the first Ctrl-C or SIGTERM. Further ones change nothing: stopping has its own limits. */
export function untilSignal(): Promise<void> {
  return new Promise((resolve) => {
    process.on('SIGINT', () => resolve()).on('SIGTERM', () => resolve());
  });
}
