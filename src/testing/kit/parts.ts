import { OptionCheck } from '../../kernel/check-options.ts';
import type { Holdfast } from '../../service/holdfast.ts';
import { SERVICE_PARTS, type ServiceParts } from '../../service/service-parts.ts';

/** What the service was made of. Refuses what `holdfast()` did not give, such as a copy of it. */
export function partsOf<Tx, SendTx>(of: string, hf: Holdfast<Tx, SendTx>): ServiceParts<Tx, SendTx> {
  const parts = typeof hf === 'object' && hf !== null ? SERVICE_PARTS.get(hf) : undefined;
  if (parts) return parts as ServiceParts<Tx, SendTx>;
  const check = new OptionCheck(of);
  check.refuse('hf', hf, 'pass what holdfast() gave, itself and no copy of it');
  check.done();
  throw new TypeError('unreachable');
}
