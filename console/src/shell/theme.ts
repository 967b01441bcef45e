import { useState } from 'react';

export type Theme = 'system' | 'light' | 'dark';

const NAME = 'holdfast-theme';

function stored(): Theme {
  try {
    const theme = localStorage.getItem(NAME);
    return theme === 'light' || theme === 'dark' ? theme : 'system';
  } catch {
    return 'system';
  }
}

/** The theme, and how to go to the next: the system's, light, dark. */
export function useTheme(): readonly [Theme, () => void] {
  const [theme, setTheme] = useState(stored);
  const next = (): void => {
    const wanted = theme === 'system' ? 'dark' : theme === 'dark' ? 'light' : 'system';
    setTheme(wanted);
    if (wanted === 'system') delete document.documentElement.dataset['theme'];
    else document.documentElement.dataset['theme'] = wanted;
    try {
      if (wanted === 'system') localStorage.removeItem(NAME);
      else localStorage.setItem(NAME, wanted);
    } catch {
      // Storage is forbidden: the choice holds until the page is left.
    }
  };
  return [theme, next];
}
