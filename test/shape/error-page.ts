/**
 * Where docs/errors.md and the error codes do not match: each code has a section `## CODE` with a paragraph that begins with
 * `**What to do.**`, in the order of the alphabet, and there is no section for anything else.
 */
export function errorPageProblems(page: string, codes: readonly string[]): string[] {
  const sections = new Map(
    page
      .split(/^## /m)
      .slice(1)
      .map((section) => [headingOf(section), section]),
  );
  const problems = codes.length === 0 ? ['there are no error codes'] : [];
  for (const code of codes) {
    const section = sections.get(code);
    if (section === undefined) problems.push(`${code} has no section`);
    else if (!/^\*\*What to do\.\*\* \S/m.test(section)) problems.push(`${code} does not say what to do`);
  }
  for (const heading of sections.keys()) if (!codes.includes(heading)) problems.push(`${heading} is not an error code`);
  const order = [...sections.keys()];
  if (order.join() !== order.toSorted().join()) problems.push('the sections are not in the order of the alphabet');
  return problems;
}

function headingOf(section: string): string {
  return section.split('\n', 1)[0]?.trim() ?? '';
}
