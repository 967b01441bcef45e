const SECTION = /<!-- bench ([a-z-]+) -->\n[^]*?<!-- \/bench -->/g;

/**
 * A page with what stands between `<!-- bench name -->` and `<!-- /bench -->` put anew. A name that nobody writes, and a page without
 * any, are errors: a table that is no longer made is one that drifts.
 */
export function replaceSections(page: string, sections: ReadonlyMap<string, string>): string {
  const opened = page.split('<!-- bench ').length - 1;
  if (opened === 0) throw new Error('the page has no section to write: <!-- bench name --> … <!-- /bench -->');
  let found = 0;
  const written = page.replaceAll(SECTION, (_whole, name: string) => {
    found += 1;
    const text = sections.get(name);
    if (text === undefined)
      throw new Error(`nothing is written for the section "${name}"; there are: ${[...sections.keys()].join(', ')}`);
    return `<!-- bench ${name} -->\n\n${text}\n\n<!-- /bench -->`;
  });
  if (found !== opened) throw new Error(`${opened} sections are opened and ${found} closed by <!-- /bench -->`);
  return written;
}
