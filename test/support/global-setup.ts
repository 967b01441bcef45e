import type { TestProject } from 'vitest/node';
import { buildIfStale } from '../../scripts/build.ts';
import { openDesk } from './desk.ts';

declare module 'vitest' {
  interface ProvidedContext {
    /** Where `needs` asks for servers. */
    desk: string;
  }
}

/** Runs once before the tests of the project `real`, and gives back what to do after them. */
export default async function setUp(project: TestProject): Promise<() => Promise<void>> {
  // Tests see the package as its users do, through dist/.
  const built = await buildIfStale();
  if (!built.ok) throw new Error(`The package did not build:\n${built.output}`);
  const desk = await openDesk((line) => console.log(line));
  project.provide('desk', desk.url);
  return desk.close;
}
