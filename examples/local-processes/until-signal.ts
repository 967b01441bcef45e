/**
 * Resolves at the first Ctrl-C or SIGTERM, and when the process that started this one is gone. Further signals change nothing: stopping has
 * its own limits.
 */
export function untilSignal(): Promise<void> {
  return new Promise((resolve) => {
    const end = (): void => {
      // Who listens for the end of the channel would keep this process alive.
      process.off('disconnect', end);
      resolve();
    };
    process.on('SIGINT', end).on('SIGTERM', end).on('disconnect', end);
  });
}
