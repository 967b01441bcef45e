const CARRIES_HEADERS = /"[^"]*headers?":/i;

/**
 * What a search for a piece of text reads of a payload, given as JSON: nothing of one that carries headers. Those that hold secrets are shown
 * to nobody, and what is found piece by piece is as good as shown. `searchedPayload` of the store on PostgreSQL is the same in SQL.
 */
export function searchedText(json: string): string {
  return CARRIES_HEADERS.test(json) ? '' : json;
}
