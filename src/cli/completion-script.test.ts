import { describe, expect, test } from 'vitest';
import { COMMANDS } from './all-commands.ts';
import { completionScript } from './completion-script.ts';

/** The line of a script that tells of an option of a command. */
function lineOf(script: string, ...parts: readonly string[]): string {
  return script.split('\n').find((line) => parts.every((part) => line.includes(part))) ?? '';
}

describe('what shells are taught', () => {
  test('zsh offers files for files alone, and is taught where nobody began completion and from a folder of functions [X.18]', () => {
    const script = completionScript('zsh', COMMANDS);
    const serve = lineOf(script, '    serve) ');
    expect(serve).toContain("'--port[where to listen; 0 is any that is free]:<n>: '");
    expect(serve).not.toContain('<n>:_files');
    expect(lineOf(script, '    dev) ')).toMatch(/--config\[[^']*\]:<file>:_files/);
    expect(script).toContain('(( $+functions[compdef] )) || { autoload -Uz compinit && compinit }');
    expect(script).toContain('if [[ "${funcstack[1]}" == _holdfast ]]; then\n  _holdfast "$@"');
  });

  test('fish goes by the first word, offers a verb once, and files for files alone [X.18]', () => {
    const script = completionScript('fish', COMMANDS);
    // "holdfast bulk pause" is not the command pause.
    expect(script).not.toContain('__fish_seen_subcommand_from');
    expect(lineOf(script, "'__holdfast_is bulk; and test (count (commandline -opc)) -eq 2'")).toContain('plan start');
    expect(lineOf(script, '__holdfast_is serve', '-l port')).toContain('-l port -x ');
    expect(lineOf(script, '__holdfast_is dev', '-l config')).toContain('-l config -r ');
  });
});
