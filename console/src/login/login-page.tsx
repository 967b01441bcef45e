import { useQueryClient } from '@tanstack/react-query';
import { type ReactElement, useState } from 'react';
import { tell } from '../api/client.ts';
import { ErrorBox } from '../parts/notice.tsx';

/** Asks for the token that `holdfast serve` was started with. */
export function LoginPage(): ReactElement {
  const [token, setToken] = useState('');
  const [error, setError] = useState<unknown>();
  const client = useQueryClient();
  const logIn = async (): Promise<void> => {
    try {
      await tell('POST', 'session', { token });
      await client.resetQueries();
    } catch (problem) {
      setError(problem);
    }
  };
  return (
    <main className="alone">
      <form
        className="login"
        onSubmit={(event) => {
          event.preventDefault();
          void logIn();
        }}
      >
        <h1>
          <img src="./favicon.svg" alt="" width="24" height="24" /> Holdfast
        </h1>
        <label>
          Access token
          <input
            type="password"
            autoComplete="current-password"
            required
            value={token}
            onChange={(event) => setToken(event.target.value)}
          />
        </label>
        <button type="submit" className="primary">
          Log in
        </button>
        {error === undefined ? null : <ErrorBox error={error} />}
        <p className="muted">
          Use a token that the server was started with. If it was started without tokens, open the URL it printed. Ask
          the administrator for yours.
        </p>
      </form>
    </main>
  );
}
