import { useQueryClient } from '@tanstack/react-query';
import { Link, Outlet, useLocation } from '@tanstack/react-router';
import { type ReactElement, useEffect, useState } from 'react';
import { tell } from '../api/client.ts';
import { Icon } from '../parts/icon.tsx';
import { useAttention } from './favicon.ts';
import { KeyHelp } from './key-help.tsx';
import { useLive } from './live.tsx';
import { pagesOf } from './pages.ts';
import { Palette } from './palette.tsx';
import { useSession } from './session.tsx';
import { useShortcuts } from './shortcuts.ts';
import { StaleNotice, useStale } from './stale-notice.tsx';
import { useTheme } from './theme.ts';

/** What stands around every page. */
export function Shell(): ReactElement {
  const [isMenuOpen, setMenuOpen] = useState(false);
  const [over, setOver] = useState<'palette' | 'help'>();
  const { pathname } = useLocation();
  useEffect(() => setMenuOpen(false), [pathname]);
  useShortcuts(setOver);
  return (
    <div className={isMenuOpen ? 'shell menu-open' : 'shell'}>
      <a className="skip-link" href={`${pathname}#main`} onClick={focusMain}>
        Skip to the page
      </a>
      <div className="top-bar">
        <button
          type="button"
          className="quiet square"
          aria-label="Menu"
          aria-expanded={isMenuOpen}
          onClick={() => setMenuOpen(!isMenuOpen)}
        >
          <Icon name="menu" />
        </button>
        <strong>Holdfast</strong>
        <button
          type="button"
          className="quiet square"
          aria-label="Search and commands"
          onClick={() => setOver('palette')}
        >
          <Icon name="search" />
        </button>
      </div>
      <Navigation openPalette={() => setOver('palette')} openHelp={() => setOver('help')} />
      <main id="main" tabIndex={-1}>
        <StaleNotice />
        <Outlet />
      </main>
      {over === 'palette' ? <Palette close={() => setOver(undefined)} /> : null}
      {over === 'help' ? <KeyHelp close={() => setOver(undefined)} /> : null}
    </div>
  );
}

function focusMain(event: { preventDefault(): void }): void {
  event.preventDefault();
  document.querySelector<HTMLElement>('#main')?.focus();
}

function Navigation({
  openPalette,
  openHelp,
}: {
  readonly openPalette: () => void;
  readonly openHelp: () => void;
}): ReactElement {
  const things = useAttention();
  const pages = pagesOf(useSession());
  return (
    <nav className="side" aria-label="Pages">
      <div className="brand">
        <img src="./favicon.svg" alt="" width="20" height="20" />
        <strong>Holdfast</strong>
      </div>
      <button type="button" className="search-button" onClick={openPalette}>
        <Icon name="search" /> Search
        <kbd>⌘K</kbd>
      </button>
      {pages.map((group) => (
        <ul key={group[0]?.to}>
          {group.map(({ to, title, icon }) => (
            <li key={to}>
              <Link
                to={to}
                activeOptions={{ exact: to === '/', includeSearch: false }}
                activeProps={{ className: 'active' }}
              >
                <Icon name={icon} />
                {title}
                {to === '/' && things > 0 ? (
                  <span className="badge">
                    {things}
                    <span className="hidden"> things need you</span>
                  </span>
                ) : null}
              </Link>
            </li>
          ))}
        </ul>
      ))}
      <Foot openHelp={openHelp} />
    </nav>
  );
}

function Foot({ openHelp }: { readonly openHelp: () => void }): ReactElement {
  const { isLive, isStreaming, setLive } = useLive();
  const isStale = useStale() !== undefined;
  const { actor, role, isReadOnly, version } = useSession();
  const [theme, nextTheme] = useTheme();
  const client = useQueryClient();
  const logOut = async (): Promise<void> => {
    await tell('DELETE', 'session');
    await client.resetQueries();
  };
  return (
    <div className="foot">
      <button type="button" className="quiet" aria-pressed={!isLive} onClick={() => setLive(!isLive)}>
        <Icon name={isLive ? 'pause' : 'play'} />
        {isLive ? 'Live' : 'Paused'}
        <span
          className={`dot ${isStale ? 'stale' : isLive ? (isStreaming ? 'on' : 'polls') : ''}`}
          aria-hidden="true"
        />
      </button>
      <div className="foot-buttons">
        <button
          type="button"
          className="quiet square"
          aria-label={`Theme: ${theme}`}
          title={`Theme: ${theme}`}
          onClick={nextTheme}
        >
          <Icon name={theme === 'dark' ? 'moon' : theme === 'light' ? 'sun' : 'system'} />
        </button>
        <button type="button" className="quiet square" aria-label="Keys" title="Keys (?)" onClick={openHelp}>
          <Icon name="help" />
        </button>
        <button
          type="button"
          className="quiet square"
          aria-label="Log out"
          title="Log out"
          onClick={() => void logOut()}
        >
          <Icon name="out" />
        </button>
      </div>
      <p className="muted who" title={`Version ${version}`}>
        <bdi>{actor}</bdi> · {isReadOnly ? 'read-only' : role}
      </p>
    </div>
  );
}
