import { createRequire } from 'node:module';
import { PrismaPg } from '@prisma/adapter-pg';
import { getPrismaClient, type GetPrismaClientConfig, type ITXClientDenyList } from '@prisma/client/runtime/client';
import type { Pool } from 'pg';

// It has no types, and the generated module is not checked.
const COMPILER = '@prisma/client/runtime/query_compiler_fast_bg.postgresql';
type CompilerRuntime = Awaited<ReturnType<NonNullable<GetPrismaClientConfig['compilerWasm']>['getRuntime']>>;
const require = createRequire(import.meta.url);

/** What `prisma generate` declares of the client of a schema without models. */
interface Generated {
  $connect(): Promise<void>;
  $disconnect(): Promise<void>;
  $on(event: never, listener: () => void): unknown;
  $extends: unknown;
  $executeRawUnsafe(query: string, ...values: unknown[]): Promise<number>;
  $queryRawUnsafe<T = unknown>(query: string, ...values: unknown[]): Promise<T>;
  $transaction<R>(
    work: (tx: Omit<Generated, ITXClientDenyList>) => Promise<R>,
    options?: { readonly timeout?: number },
  ): Promise<R>;
}

/**
 * A client of Prisma 7, made as the module does that `prisma generate` writes: the runtime gets what the generator has read from the
 * schema, here one without models. The command itself is left out, which brings 200 MB and fetches a program that is not used.
 */
export function prismaClient(pool: Pool): Generated {
  return prismaClientOver(new PrismaPg(pool));
}

/** The same with an adapter that was made before. */
export function prismaClientOver(adapter: PrismaPg): Generated {
  const Client = getPrismaClient({
    previewFeatures: [],
    clientVersion: '7.10.1',
    engineVersion: 'd1b3f377ca835d73fd50954a5e22128b9ebdd6b8',
    activeProvider: 'postgresql',
    inlineSchema:
      'generator client {\n  provider = "prisma-client"\n}\n\ndatasource db {\n  provider = "postgresql"\n}\n',
    runtimeDataModel: { models: {}, enums: {}, types: {} },
    parameterizationSchema: { strings: [], graph: 'AAAA' },
    compilerWasm: {
      getRuntime: async () => require(`${COMPILER}.js`) as CompilerRuntime,
      getQueryCompilerWasmModule: async () => {
        const { wasm } = require(`${COMPILER}.wasm-base64.js`) as { wasm: string };
        return new WebAssembly.Module(Buffer.from(wasm, 'base64'));
      },
      importName: './query_compiler_fast_bg.js',
    },
  });
  return new Client({ adapter }) as unknown as Generated;
}
