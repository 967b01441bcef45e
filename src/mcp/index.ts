export type { SdkLoader } from './mcp-sdk.ts';
export { type McpCaller, type McpOperatorServer, mcpServer, type McpServerOptions } from './mcp-server.ts';
