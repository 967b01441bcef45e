import { createServer, type RequestListener } from 'node:http';
import type { AddressInfo } from 'node:net';
import { onTestFinished } from 'vitest';
import type { Operator } from '../../src/operator/operator.ts';
import { type OperatorServer, operatorServer, type OperatorServerOptions } from '../../src/server/index.ts';

/** Listens on a free port of this machine until the test ends; gives the address, without a slash at the end. */
export async function listenHere(listener: RequestListener): Promise<string> {
  const http = createServer(listener);
  await new Promise<void>((resolve) => http.listen(0, '127.0.0.1', resolve));
  onTestFinished(async () => {
    http.closeAllConnections();
    await new Promise((resolve) => http.close(resolve));
  });
  return `http://127.0.0.1:${(http.address() as AddressInfo).port}`;
}

/** A server over real sockets, until the test ends. */
export async function serveHere(
  options: OperatorServerOptions,
): Promise<{ readonly url: string; readonly server: OperatorServer }> {
  const server = operatorServer({ consoleFiles: false, localOnly: true, ...options });
  onTestFinished(() => server.close());
  return { server, url: await listenHere(server.listener) };
}

export const TOKENS = [
  { token: 'viewer-secret-0001', role: 'viewer', actor: 'vera' },
  { token: 'operator-secret-01', role: 'operator', actor: 'otto' },
  { token: 'admin-secret-00001', role: 'admin', actor: 'ada' },
] as const;

/** What somebody with that role sends. */
export function as(role: 'viewer' | 'operator' | 'admin'): { readonly authorization: string } {
  return { authorization: `Bearer ${TOKENS.find((one) => one.role === role)?.token ?? ''}` };
}

/** An operator that notes what is asked of it and answers what it is told to. */
export function scriptedOperator(answers: Partial<Record<keyof Operator, unknown>> = {}): {
  readonly operator: Operator;
  readonly asked: (readonly [name: string, ...args: unknown[]])[];
} {
  const asked: (readonly [name: string, ...args: unknown[]])[] = [];
  const operator = new Proxy({} as Operator, {
    get:
      (_, name: string) =>
      async (...args: unknown[]) => {
        asked.push([name, ...args]);
        const answer = answers[name as keyof Operator] ?? { kind: 'asked' };
        return typeof answer === 'function' ? (answer as (...given: unknown[]) => unknown)(...args) : answer;
      },
    ownKeys: () => Object.keys(answers),
    getOwnPropertyDescriptor: () => ({ enumerable: true, configurable: true }),
    has: () => true,
  });
  return { operator, asked };
}

/** A change, as a program sends it. */
export function change(
  body: unknown,
  headers: Record<string, string> = {},
): RequestInit & { readonly headers: Record<string, string> } {
  return { method: 'POST', headers: { 'content-type': 'application/json', ...headers }, body: JSON.stringify(body) };
}
