import { useNavigate } from '@tanstack/react-router';
import { type KeyboardEvent, type ReactElement, useState } from 'react';
import { Icon, type IconName } from '../parts/icon.tsx';
import { Modal } from '../parts/modal.tsx';
import { searchOf } from '../messages/qualifiers.ts';
import { useLive } from './live.tsx';
import { pagesOf } from './pages.ts';
import { useIsMongodb, useSession } from './session.tsx';
import { useTheme } from './theme.ts';

interface Choice {
  readonly title: string;
  readonly icon: IconName;
  readonly run: () => void;
}

const MESSAGE_ID = /^[0-9a-f]{8}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{12}(:\d{1,5})?$/i;

function useChoices(text: string): readonly Choice[] {
  const navigate = useNavigate();
  const { isLive, setLive } = useLive();
  const [theme, nextTheme] = useTheme();
  const typed = text.trim();
  const isMongodb = useIsMongodb();
  const go =
    (to: string, search: object = {}) =>
    (): void =>
      void navigate({ to, search: search });
  const pages = pagesOf(useSession())
    .flat()
    .map(({ to, title, icon }) => ({ title, icon, run: go(to) }));
  const commands: readonly Choice[] = [
    ...pages,
    {
      title: isLive ? 'Pause live updates' : 'Go live again',
      icon: isLive ? 'pause' : 'play',
      run: () => setLive(!isLive),
    },
    { title: `Change the theme (now: ${theme})`, icon: 'sun', run: nextTheme },
  ];
  if (typed === '') return commands;
  const fitting = commands.filter(({ title }) => title.toLowerCase().includes(typed.toLowerCase()));
  const opens = MESSAGE_ID.test(typed);
  return [
    ...(opens ? [{ title: `Open message ${typed}`, icon: 'open', run: go(`/messages/${typed}`) } as const] : []),
    ...fitting,
    { title: `Search messages: ${typed}`, icon: 'messages', run: go('/messages', searchOf(typed)) },
    { title: `Search dead letters: ${typed}`, icon: 'dead', run: go('/dead-letters', { view: 'list', search: typed }) },
    ...(isMongodb ? [] : [{ title: `Trace ${typed}`, icon: 'trace', run: go('/trace', { id: typed }) } as const]),
  ];
}

/** One box for pages, commands, ids and searches. */
export function Palette({ close }: { readonly close: () => void }): ReactElement {
  const [text, setText] = useState('');
  const [at, setAt] = useState(0);
  const choices = useChoices(text);
  const chosen = Math.min(at, choices.length - 1);
  const run = (choice: Choice | undefined): void => {
    close();
    choice?.run();
  };
  const onKey = (event: KeyboardEvent): void => {
    if (event.key === 'ArrowDown') setAt(Math.min(chosen + 1, choices.length - 1));
    else if (event.key === 'ArrowUp') setAt(Math.max(chosen - 1, 0));
    else if (event.key === 'Enter') run(choices[chosen]);
    else return;
    event.preventDefault();
  };
  return (
    <Modal title="Search and commands" close={close} kind="palette">
      <input
        role="combobox"
        aria-label="Search and commands"
        aria-expanded="true"
        aria-controls="palette-choices"
        aria-activedescendant={`choice-${chosen}`}
        placeholder="A page, a message id, type:order.* status:failed, a request id …"
        data-focus
        value={text}
        onKeyDown={onKey}
        onChange={(event) => {
          setText(event.target.value);
          setAt(0);
        }}
      />
      <ul role="listbox" id="palette-choices" aria-label="Choices">
        {choices.map((choice, index) => (
          <li
            key={choice.title}
            id={`choice-${index}`}
            role="option"
            aria-selected={index === chosen}
            onMouseMove={() => setAt(index)}
            onClick={() => run(choice)}
            onKeyDown={onKey}
          >
            <Icon name={choice.icon} /> <bdi>{choice.title}</bdi>
          </li>
        ))}
      </ul>
    </Modal>
  );
}
