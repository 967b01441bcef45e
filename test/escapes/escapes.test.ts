import { beforeAll } from 'vitest';
import { sharedPglite } from '../support/shared-pglite.ts';
import { PG, PGLITE, POSTGRES_JS } from './escape-kinds.ts';
import { describeEscapes } from './escape-suite.ts';

beforeAll(async () => void (await sharedPglite()));

describeEscapes(PG);
describeEscapes(POSTGRES_JS);
describeEscapes(PGLITE);
