import { byId, setText } from './dom.js';

type Theme = 'light' | 'dark';

const KEPT = 'nestjs-floodgate:theme';
const prefersDark = matchMedia('(prefers-color-scheme: dark)');

/** Light or dark, as the system says until somebody chooses. Calls back when it changes. */
export function startTheme(onChange: () => void): void {
  const button = byId('theme');
  const show = (theme: Theme | undefined) => {
    if (theme) document.documentElement.dataset['theme'] = theme;
    setText(button, current() === 'dark' ? 'Light' : 'Dark');
    onChange();
  };
  button.addEventListener('click', () => {
    const theme = current() === 'dark' ? 'light' : 'dark';
    keep(theme);
    show(theme);
  });
  prefersDark.addEventListener('change', () => show(undefined));
  show(kept());
}

function current(): Theme {
  const chosen = document.documentElement.dataset['theme'];
  return chosen === 'light' || chosen === 'dark' ? chosen : prefersDark.matches ? 'dark' : 'light';
}

/** Storage may be forbidden; the choice then lasts as long as the page. */
function kept(): Theme | undefined {
  try {
    const theme = localStorage.getItem(KEPT);
    return theme === 'light' || theme === 'dark' ? theme : undefined;
  } catch {
    return undefined;
  }
}

function keep(theme: Theme): void {
  try {
    localStorage.setItem(KEPT, theme);
  } catch {
    // As above.
  }
}
