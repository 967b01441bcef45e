import { hideSecrets } from '../../kernel/hide-secrets.ts';
import { mcpServer } from '../../mcp/mcp-server.ts';
import type { Operator } from '../../operator/operator.ts';
import { terminalSafe } from '../../retry-notice/terminal-text.ts';
import { redactedOperator } from '../../server/redacted-operator.ts';
import { RedactionRules } from '../../server/redaction.ts';
import { EXIT } from '../cli-error.ts';
import type { Command } from '../command.ts';
import { importPackage } from '../import-package.ts';
import { openOperator } from '../open-operator.ts';

/** `holdfast mcp`: the operator's tools for an agent, over standard input and output. */
export const mcp: Command = {
  name: 'mcp',
  summary: 'Give an agent the tools of an operator, by the Model Context Protocol over standard input and output.',
  options: {
    'allow-writes': {
      summary: 'let it replay, discard, pause and resume, each after a preview',
      default: 'it only looks',
    },
    'max-items': { value: '<n>', summary: 'the most dead letters one call may change', default: '100' },
    'writes-per-minute': { value: '<n>', summary: 'the most writes in a minute', default: '10' },
    'preview-for': { value: '<time>', summary: 'how long a preview can be acted upon', default: '5m' },
    redact: {
      value: '<path>',
      summary: 'hide this place of payloads, e.g. customer.email or items.*.card; texts of errors and keys too',
      multiple: true,
    },
    'show-keys': { summary: 'with --redact: show keys, which say nothing' },
    'max-payload': { value: '<n>', summary: 'the most characters of a payload that are handed out', default: '16000' },
  },
  details: [
    'A program starts this, not a person: docs/mcp.md shows how common clients are told. Needs the package',
    '@modelcontextprotocol/server beside it. In the audit it is mcp:<name of the client>, or what --actor says.',
  ],
  examples: ['holdfast mcp', 'holdfast mcp --allow-writes --max-items 20 --redact customer.email'],
  run: async (invocation) => {
    const { io, options } = invocation;
    const limits = {
      maxItems: options.count('max-items'),
      writesPerMinute: options.count('writes-per-minute'),
      previewMs: options.durationMs('preview-for'),
      maxPayload: options.count('max-payload'),
    };
    const server = mcpServer({
      operator: redacted(await openOperator(invocation), options.list('redact'), options.flag('show-keys')),
      allowWrites: options.flag('allow-writes'),
      actor: options.text('actor'),
      ...limits,
      version: invocation.version,
      effects: io.effects,
      onError: ({ message }) => io.err(`${terminalSafe(hideSecrets(message))}\n`),
      loadSdk: (name) => importPackage(name, io.cwd),
    });
    const serving = await server.serveStdio();
    // The client ends it by closing our input, or with a signal.
    await io.inputEnd();
    await serving.close();
    return EXIT.ok;
  },
};

/** What is hidden is hidden from every agent, whoever runs it. */
function redacted(operator: Operator, paths: readonly string[], showKeys: boolean): Operator {
  return redactedOperator(operator, new RedactionRules({ paths, visibleTo: 'nobody', showKeys }));
}
