/**
 * How many statements, of 10,000 rows each, one page may take. A page that has found nothing then is empty and says where to go on: a
 * request for what is not there must end, however long the log is.
 */
const MOST_WALKS = 100;

/**
 * Takes the first page from `cursor` on that has something in it, or the last one: clients, and people, take an empty page for the end.
 * Each page is a statement of its own, so none holds a snapshot for long.
 */
export async function walkOn<Page extends { readonly next: string | undefined }>(
  cursor: string | undefined,
  read: (cursor: string | undefined) => Promise<Page>,
  isEmpty: (page: Page) => boolean,
): Promise<Page> {
  let page = await read(cursor);
  for (let walks = 1; walks < MOST_WALKS && page.next !== undefined && isEmpty(page); walks++)
    page = await read(page.next);
  return page;
}
