import { OptionCheck } from '../kernel/check-options.ts';

/** Whose everything is that nobody else's name stands on: what operators publish, and tokens that were made without a tenant. */
export const DEFAULT_TENANT = 'default';

const TENANT = /^[a-z0-9][a-z0-9-]{0,39}$/;
/** Names that the tenant `default` cannot have as they are: those of other tenants, and the lines of endpoints. */
const RESERVED = /^(?:@|endpoint:)/;

/** Refuses what is no name of a tenant. Throws `INVALID_OPTIONS`. */
export function checkTenant(of: string, tenant: string): void {
  if (TENANT.test(tenant)) return;
  const check = new OptionCheck(of);
  check.refuse('tenant', tenant, 'write 1 to 40 small letters, digits and dashes, such as acme');
  check.done();
}

/**
 * The name under which a queue, URL group, flow-control key or schedule of a tenant is stored: `@acme/nightly`. Those of `default` are
 * stored as they are, but for names that would be another's. No two tenants' names are stored under the same.
 */
export function storedName(tenant: string | undefined, name: string): string {
  if (tenant !== undefined && tenant !== DEFAULT_TENANT) return `@${tenant}/${name}`;
  return RESERVED.test(name) ? `@${DEFAULT_TENANT}/${name}` : name;
}

/** The name as its tenant knows it. */
export function ownName(stored: string): string {
  return stored.startsWith('@') ? stored.slice(stored.indexOf('/') + 1) : stored;
}
