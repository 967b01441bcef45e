import { useQueryClient } from '@tanstack/react-query';
import { createContext, type ReactElement, type ReactNode, useContext, useState } from 'react';
import { tell } from '../api/client.ts';
import { ActDialog } from './act-dialog.tsx';
import { useToast } from './toasts.tsx';

/** A field of the dialog that asks before something is done. */
export type ActField =
  | { readonly kind: 'check'; readonly name: string; readonly label: string }
  | NumberField
  | TextField
  | { readonly kind: 'choices'; readonly name: string; readonly label: string; readonly choices: readonly string[] };

export interface NumberField {
  readonly kind: 'number';
  readonly name: string;
  readonly label: string;
  readonly hint?: string;
  readonly initial?: number | undefined;
  /** Default 10,000. */
  readonly max?: number;
  readonly isNeeded?: boolean;
}

export interface TextField {
  readonly kind: 'text';
  readonly name: string;
  readonly label: string;
  readonly hint?: string | undefined;
  readonly initial?: string | undefined;
  readonly example?: string;
  readonly isNeeded?: boolean;
  /** Of several lines. */
  readonly isLong?: boolean;
  /** What is sent instead of the text; nothing: it is left out. Default: the text, where there is one. */
  readonly read?: (text: string) => unknown;
}

/** Something an operator does. */
export interface Act {
  /** A question that says what, and to how many. */
  readonly title: string;
  /** What will happen. */
  readonly text?: ReactNode;
  /** The word on the button. */
  readonly verb: string;
  readonly isDanger?: boolean;
  readonly reason?: 'optional' | 'needed' | 'none';
  readonly fields?: readonly ActField[];
  /** Below the API. */
  readonly path: string;
  readonly body?: object;
  /** What is told when it is done. */
  readonly done: (answer: never) => string;
  /** What takes it back. */
  readonly undo?: Pick<Act, 'path' | 'body' | 'done'>;
  /** The same on the command line. */
  readonly command?: string | undefined;
  /** Is waited for before what is shown is read again: it may lead away from what is not there any more. */
  readonly after?: ((answer: never) => void | Promise<void>) | undefined;
}

interface Acts {
  /** Asks, then does it. */
  readonly ask: (act: Act) => void;
  /** Does it. Throws what the server says against it. */
  readonly perform: (act: Pick<Act, 'path' | 'body' | 'done' | 'undo' | 'after'>, more?: object) => Promise<void>;
}

const ActsContext = createContext<Acts>({ ask: () => {}, perform: async () => {} });

export function useActs(): Acts {
  return useContext(ActsContext);
}

export function ActsAndDialog({ children }: { readonly children: ReactNode }): ReactElement {
  const [asked, setAsked] = useState<Act>();
  const client = useQueryClient();
  const toast = useToast();
  const perform: Acts['perform'] = async (act, more = {}) => {
    const answer = await tell<never>('POST', act.path, { ...act.body, ...more });
    const { undo } = act;
    toast({
      text: act.done(answer),
      action: undo && {
        label: 'Undo',
        run: () => void perform(undo).catch((error: Error) => toast({ text: error.message, isError: true })),
      },
    });
    await act.after?.(answer);
    // The dialog does not wait for what is read again.
    void client.invalidateQueries({ predicate: ({ queryKey }) => queryKey[0] !== 'session' });
  };
  return (
    <ActsContext value={{ ask: setAsked, perform }}>
      {children}
      {asked === undefined ? null : (
        <ActDialog act={asked} close={() => setAsked(undefined)} perform={(more) => perform(asked, more)} />
      )}
    </ActsContext>
  );
}
