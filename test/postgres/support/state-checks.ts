/**
 * What must hold for every row of the tables of messages, as constraints of them. In service they would cost every send; tests
 * that go through many states run with them.
 */
export function stateChecks(schema: string): string {
  return `alter table ${schema}.delivery add check (state in (0, 1, 2)), add check ((state = 1) = (due_at is not null)),
      add check ((state = 2) = (failed_at is not null)), add check (not (holds and state = 0));
    alter table ${schema}.delivered add check (outcome in (0, 1, 2))`;
}
