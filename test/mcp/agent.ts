import type { Client } from '@modelcontextprotocol/client';
import { expect } from 'vitest';

/** What a tool answered. */
interface Told {
  readonly isError: boolean;
  /** Our own sentence. */
  readonly summary: string;
  /** All text blocks. */
  readonly text: string;
  readonly value: Readonly<Record<string, unknown>>;
}

/** A client of the official SDK, with what tests ask of it. */
export interface Agent {
  readonly client: Client;
  call(tool: string, args?: Readonly<Record<string, unknown>>): Promise<Told>;
  /** The call must be refused; answers what is said. */
  refused(tool: string, args?: Readonly<Record<string, unknown>>): Promise<string>;
  /** The dry run of a write: answers its token. */
  preview(tool: string, args: Readonly<Record<string, unknown>>): Promise<string>;
}

interface RawResult {
  readonly isError?: boolean | undefined;
  readonly content?: unknown;
  readonly structuredContent?: unknown;
}

/** Calls tools of a connected client. */
export function agentOn(client: Client, callTool?: (name: string, args: object) => Promise<object>): Agent {
  const call: Agent['call'] = async (tool, args = {}) => {
    const result = (
      callTool ? await callTool(tool, args) : await client.callTool({ name: tool, arguments: { ...args } })
    ) as RawResult;
    const blocks = (result.content ?? []) as readonly { readonly text: string }[];
    return {
      isError: result.isError === true,
      summary: blocks[0]?.text ?? '',
      text: blocks.map((block) => block.text).join('\n'),
      value: (result.structuredContent ?? {}) as Record<string, unknown>,
    };
  };
  return {
    client,
    call,
    refused: async (tool, args) => {
      const told = await call(tool, args);
      expect(told.isError, told.text).toBe(true);
      expect(told.text).toMatch(/Next: .+\.$/);
      return told.text;
    },
    preview: async (tool, args) => {
      const told = await call(tool, args);
      expect(told, told.text).toMatchObject({ isError: false, value: { isDryRun: true } });
      return String(told.value['preview_token']);
    },
  };
}
