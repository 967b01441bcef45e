import { describe, expect, test } from 'vitest';
import type { ChunkMeaning } from './chunk-meaning.ts';
import { afterErrorChunk, NOTHING_READ, readChunk, type StreamProgress } from './stream-progress.ts';

const HOLDING = { ...NOTHING_READ, held: 1 };
const FLOWING: StreamProgress = { state: 'flowing', held: 0, contentChunks: 1, contentLength: 3 };
const COMPLETE: StreamProgress = { ...FLOWING, state: 'complete' };

const preamble: ChunkMeaning = { kind: 'preamble' };
const end: ChunkMeaning = { kind: 'preamble', end: true };
const content: ChunkMeaning = { kind: 'content', length: 4 };
const lastContent: ChunkMeaning = { kind: 'content', length: 4, end: true };
const alive: ChunkMeaning = { kind: 'keep-alive' };
const error: ChunkMeaning = { kind: 'error', retryable: true, message: 'busy' };

describe('the progress of an attempt', () => {
  test.each<[what: string, state: string, before: StreamProgress, meaning: ChunkMeaning, act: string, after: string]>([
    ['preamble', 'holding', HOLDING, preamble, 'hold', 'holding'],
    ['content', 'holding', HOLDING, content, 'release', 'flowing'],
    ['content that closes', 'holding', HOLDING, lastContent, 'release', 'complete'],
    ['the closing event', 'holding', HOLDING, end, 'release', 'complete'],
    ['a keep-alive', 'holding', HOLDING, alive, 'pass', 'holding'],
    ['an error', 'holding', HOLDING, error, 'judge', 'holding'],
    ['preamble', 'flowing', FLOWING, preamble, 'pass', 'flowing'],
    ['content', 'flowing', FLOWING, content, 'pass', 'flowing'],
    ['the closing event', 'flowing', FLOWING, end, 'pass', 'complete'],
    ['a keep-alive', 'flowing', FLOWING, alive, 'pass', 'flowing'],
    ['an error', 'flowing', FLOWING, error, 'judge', 'flowing'],
    ['preamble', 'complete', COMPLETE, preamble, 'pass', 'complete'],
    ['more content', 'complete', COMPLETE, content, 'pass', 'flowing'],
    ['a keep-alive', 'complete', COMPLETE, alive, 'pass', 'complete'],
  ])('%s while %s is answered as the diagram says [S2.3]', (_what, _state, before, meaning, act, after) => {
    const step = readChunk(before, meaning, 10);
    expect({ act: step.act, state: step.progress.state }).toEqual({ act, state: after });
  });

  test('the chunk above the limit begins the stream [S2.3]', () => {
    const full = { ...HOLDING, held: 10 };
    expect(readChunk(full, preamble, 10)).toMatchObject({ act: 'release', progress: { state: 'flowing', held: 0 } });
  });

  test('content is counted in chunks and characters [S2.3]', () => {
    expect(readChunk(FLOWING, content, 10).progress).toEqual({ ...FLOWING, contentChunks: 2, contentLength: 7 });
  });

  test('after an error chunk was handed over nothing more is expected [S2.3]', () => {
    expect(afterErrorChunk(FLOWING)).toEqual(COMPLETE);
  });
});
