/** A tax code that this version of the ledger does not know. No further attempt will teach it: terminal. */
export class UnknownTaxCode extends Error {
  override readonly name = 'UnknownTaxCode';
}

/** What each generation of the ledger's code knows. The second one was written because of a dead letter of the first. */
const RATES_OF_GENERATION: readonly Readonly<Record<string, number>>[] = [
  {},
  { DE19: 0.19, FR20: 0.2 },
  { DE19: 0.19, FR20: 0.2, GB20: 0.2 },
];

/** Net and tax in cents. Throws `UnknownTaxCode`. */
export function grossCents(generation: number, netCents: number, taxCode: string): number {
  const rates = RATES_OF_GENERATION[Math.min(generation, RATES_OF_GENERATION.length - 1)] ?? {};
  const rate = Object.hasOwn(rates, taxCode) ? rates[taxCode] : undefined;
  if (rate === undefined) throw new UnknownTaxCode(`tax code ${taxCode} is not known to generation ${generation}`);
  return netCents + Math.round(netCents * rate);
}
