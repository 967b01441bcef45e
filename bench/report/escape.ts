const ENTITIES: Readonly<Record<string, string>> = {
  '&': '&amp;',
  '<': '&lt;',
  '>': '&gt;',
  '"': '&quot;',
  "'": '&#39;',
};

/** Text for HTML, between tags and in attributes. */
export function escapeHtml(text: string): string {
  return text.replaceAll(/[&<>"']/g, (found) => ENTITIES[found] ?? found);
}

/** Text for a cell of a Markdown table. */
export function escapeCell(text: string): string {
  return text
    .replaceAll('|', '\\|')
    .replaceAll('<', '&lt;')
    .replaceAll(/\s*\n\s*/g, ' ');
}
