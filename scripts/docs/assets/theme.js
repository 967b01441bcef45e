// Before the first paint, so that nothing flashes.
try {
  const chosen = localStorage.getItem('holdfast-docs-theme');
  if (chosen) document.documentElement.dataset.theme = chosen;
} catch {
  // A browser that keeps nothing follows the system.
}
