import type { Operator } from '../operator/operator.ts';
import type { WriteGuard } from './write-guard.ts';

/** A JSON Schema, as far as tools need one. */
export type JsonSchema = Readonly<Record<string, unknown>>;

/** What a client may show or ask before it calls a tool. All four are always said: their defaults are the worst case. */
export interface ToolHints {
  readonly readOnlyHint: boolean;
  readonly destructiveHint: boolean;
  readonly idempotentHint: boolean;
  readonly openWorldHint: boolean;
}

/** Who calls, and through what. */
export interface ToolCall {
  readonly operator: Operator;
  readonly guard: WriteGuard;
  /** As the audit will name it. */
  readonly actor: string;
  /** Nothing may be changed by this caller. */
  readonly isReadOnly: boolean;
  readonly nowMs: number;
  /** The most characters of a payload that are handed out. */
  readonly maxPayload: number;
}

/** What a tool says. `value` is the structured answer. */
export interface ToolAnswer {
  readonly kind: 'answer';
  /** One sentence in our own words: nothing of a message stands in it. */
  readonly summary: string;
  readonly value: Readonly<Record<string, unknown>>;
}

/** Why a tool did nothing, and what to do next. */
export interface ToolRefusal {
  readonly kind: 'refusal';
  readonly problem: string;
  readonly next: string;
}

export type ToolResult = ToolAnswer | ToolRefusal;

/** The arguments of a call, after they were checked against `input`. */
export type ToolArguments = Readonly<Record<string, unknown>>;

/** One tool. */
export interface Tool {
  readonly name: string;
  readonly title: string;
  readonly description: string;
  readonly hints: ToolHints;
  /** By name. */
  readonly input: Readonly<Record<string, JsonSchema>>;
  readonly required?: readonly string[];
  readonly output: JsonSchema;
  run(args: ToolArguments, call: ToolCall): Promise<ToolResult>;
}

/** The hints of a tool that only looks. */
export const LOOKS: ToolHints = {
  readOnlyHint: true,
  destructiveHint: false,
  idempotentHint: true,
  openWorldHint: false,
};

export function answer(summary: string, value: Readonly<Record<string, unknown>>): ToolAnswer {
  return { kind: 'answer', summary, value };
}

export function refusal(problem: string, next: string): ToolRefusal {
  return { kind: 'refusal', problem, next };
}

/** The text of an argument; absent where none was given. */
export function textOf(args: ToolArguments, name: string): string | undefined {
  const value = args[name];
  return typeof value === 'string' && value.trim() !== '' ? value : undefined;
}

/** The number of an argument; absent where none was given. */
export function numberOf(args: ToolArguments, name: string): number | undefined {
  const value = args[name];
  return typeof value === 'number' ? value : undefined;
}
