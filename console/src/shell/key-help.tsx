import { Fragment, type ReactElement } from 'react';
import { Modal } from '../parts/modal.tsx';
import { pagesOf } from './pages.ts';
import { useSession } from './session.tsx';

const KEYS: readonly (readonly [string, string])[] = [
  ['⌘K', 'search and commands'],
  ['/', 'to the search box of the page'],
  ['j k', 'next and previous row'],
  ['Enter', 'open the row'],
  ['x', 'select the row'],
  ['r', 'replay the row, or the message shown'],
  ['Esc', 'close what is open'],
  ['?', 'these keys'],
];

/** Which keys there are. */
export function KeyHelp({ close }: { readonly close: () => void }): ReactElement {
  const pages = pagesOf(useSession()).flat();
  return (
    <Modal title="Keys" close={close}>
      <dl className="key-list">
        {KEYS.map(([keys, what]) => (
          <Fragment key={keys}>
            <dt>
              {keys.split(' ').map((key) => (
                <kbd key={key}>{key}</kbd>
              ))}
            </dt>
            <dd>{what}</dd>
          </Fragment>
        ))}
        {pages.map(({ key, title }) => (
          <Fragment key={key}>
            <dt>
              <kbd>g</kbd>
              <kbd>{key}</kbd>
            </dt>
            <dd>{title}</dd>
          </Fragment>
        ))}
      </dl>
    </Modal>
  );
}
