import { createRequire } from 'node:module';
import { dirname } from 'node:path';
import { fileURLToPath } from 'node:url';
import { type FindFile, staticFiles } from '../local-page/static-files.ts';

/** The page's file at this path, or one of the package's modules under `/holdfast/`; `undefined` for anything else. */
export const findStaticFile: FindFile = staticFiles(fileURLToPath(new URL('page/', import.meta.url)), {
  // The package as its users get it: the folder that its exports point to.
  '/holdfast/': dirname(dirname(createRequire(import.meta.url).resolve('holdfast/retry-notice'))),
});
