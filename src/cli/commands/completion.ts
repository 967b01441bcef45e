import { completionScript, SHELLS } from '../completion-script.ts';
import { EXIT } from '../cli-error.ts';
import type { Command } from '../command.ts';
import { subVerb } from '../page-options.ts';

/** `holdfast completion <shell>`: what a shell needs to complete commands and options. */
export const completion: Command = {
  name: 'completion',
  summary: 'Print what bash, zsh or fish needs to complete commands and options.',
  args: { usage: SHELLS.join('|'), min: 1, max: 1 },
  verbs: SHELLS,
  options: {},
  details: [
    'bash: add  eval "$(holdfast completion bash)"  to ~/.bashrc',
    'zsh:  add  eval "$(holdfast completion zsh)"  to ~/.zshrc, after compinit',
    'fish: holdfast completion fish > ~/.config/fish/completions/holdfast.fish',
  ],
  examples: ['holdfast completion bash', 'holdfast completion fish > holdfast.fish'],
  run: async ({ args, commands, io }) => {
    const [shell = ''] = args;
    io.out(completionScript(subVerb('completion', SHELLS, shell), commands));
    return EXIT.ok;
  },
};
