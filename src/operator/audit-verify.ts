import { OptionCheck } from '../kernel/check-options.ts';

/**
 * What is wrong with the first record that is: it was changed, or put elsewhere; it was deleted; it was inserted past the chain; its
 * link is gone. Against an anchor: everything from here on is cut off, or all of it was written anew.
 */
export type AuditProblem = 'changed' | 'deleted' | 'inserted' | 'link-missing' | 'cut-off' | 'rewritten';

/** Whether the audit is what was written, in its order. */
export type AuditVerified =
  | {
      readonly kind: 'whole';
      /** How many records there are, and the hash of the last: write both down elsewhere, and pass them as the anchor next time. */
      readonly place: number;
      readonly hash: string;
      readonly checked: number;
    }
  | {
      readonly kind: 'broken';
      readonly problem: AuditProblem;
      /** The place in the chain, from 1. */
      readonly place: number;
      /** The record of the audit; absent where there is none to name. */
      readonly id: number | undefined;
      /** How many before it are as they were written. */
      readonly checked: number;
    };

/** A place of the chain as it was told before. */
export interface AuditAnchor {
  readonly place: number;
  /** 64 hexadecimal digits. */
  readonly hash: string;
}

/** Refuses an anchor that is none. Throws `INVALID_OPTIONS`. */
export function checkAnchor(anchor: AuditAnchor | undefined): void {
  if (anchor === undefined) return;
  const check = new OptionCheck('verifyAudit()');
  const write = 'pass { place, hash } as it was told before, or leave it out';
  if (check.object('anchor', anchor, write)) {
    check.known(anchor, ['place', 'hash'], 'anchor.');
    check.number('anchor.place', anchor.place, { min: 0, integer: true, write });
    if (typeof anchor.hash !== 'string' || !/^(?:[0-9a-f]{64})?$/.test(anchor.hash))
      check.refuse('anchor.hash', anchor.hash, write);
  }
  check.done();
}
