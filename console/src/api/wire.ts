import type { Operator } from '../../../src/operator/index.ts';

/** A value as it travels: dates are ISO texts, what is `undefined` is left out. */
export type Wire<T> = T extends Date
  ? string
  : T extends (infer Item)[] | readonly (infer Item)[]
    ? readonly Wire<Item>[]
    : T extends object
      ? { readonly [Key in keyof T]: Wire<T[Key]> }
      : T;

/** What the server answers for a method of the operator. */
export type Answer<Verb extends keyof Operator> = Wire<Awaited<ReturnType<Operator[Verb]>>>;
