import { HoldfastError } from '../kernel/error.ts';
import type { JsonSchema, ToolHints } from './tool.ts';

/** What a tool gives back to a client. */
export interface SdkToolResult {
  readonly content: readonly { readonly type: 'text'; readonly text: string }[];
  readonly structuredContent?: Readonly<Record<string, unknown>>;
  readonly isError?: boolean;
}

/** What is known of one request. */
interface SdkContext {
  readonly mcpReq: {
    readonly _meta?: Readonly<Record<string, unknown>>;
    readonly envelope?: Readonly<Record<string, unknown>>;
  };
}

/** A server of the SDK, as far as it is used. */
interface SdkServer {
  readonly server: { getClientVersion(): { readonly name?: string } | undefined };
  registerTool(
    name: string,
    config: {
      readonly title: string;
      readonly description: string;
      readonly annotations: ToolHints;
      readonly inputSchema: unknown;
      readonly outputSchema: unknown;
    },
    run: (args: Readonly<Record<string, unknown>>, context: SdkContext) => Promise<SdkToolResult>,
  ): unknown;
}

/** Makes a server for one connection or one request. */
export type SdkFactory = (context: {
  readonly authInfo?: { readonly extra?: Readonly<Record<string, unknown>> };
}) => SdkServer;

/** `@modelcontextprotocol/server`, as far as it is used. */
export interface McpSdk {
  readonly McpServer: new (
    info: { readonly name: string; readonly version: string; readonly title?: string },
    options: { readonly capabilities: object; readonly instructions: string },
  ) => SdkServer;
  fromJsonSchema(schema: JsonSchema): unknown;
  createMcpHandler(
    factory: SdkFactory,
    options: { readonly onerror?: (error: Error) => void },
  ): {
    fetch(request: Request, options: { readonly authInfo: object }): Promise<Response>;
    close(): Promise<void>;
  };
}

/** `@modelcontextprotocol/server/stdio`, as far as it is used. */
export interface McpStdio {
  serveStdio(factory: SdkFactory, options: { readonly onerror?: (error: Error) => void }): { close(): Promise<void> };
}

/** Loads a part of the SDK by its name; nothing where it is not installed. */
export type SdkLoader = (
  name: '@modelcontextprotocol/server' | '@modelcontextprotocol/server/stdio',
) => Promise<unknown>;

/** Loads what is installed beside the application. */
export const installedSdk: SdkLoader = async (name) => {
  try {
    return name === '@modelcontextprotocol/server'
      ? await import('@modelcontextprotocol/server')
      : await import('@modelcontextprotocol/server/stdio');
  } catch (error) {
    if ((error as { readonly code?: unknown }).code === 'ERR_MODULE_NOT_FOUND') return undefined;
    throw error;
  }
};

/** The SDK; throws `MCP_MISSING` where it is not installed. */
export async function loadSdk(load: SdkLoader): Promise<McpSdk> {
  const found = await load('@modelcontextprotocol/server');
  if (found === undefined) throw new HoldfastError('MCP_MISSING', {});
  return found as McpSdk;
}

/** Its part for standard input and output. */
export async function loadStdio(load: SdkLoader): Promise<McpStdio> {
  const found = await load('@modelcontextprotocol/server/stdio');
  if (found === undefined) throw new HoldfastError('MCP_MISSING', {});
  return found as McpStdio;
}
