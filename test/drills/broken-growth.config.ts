// The drills of the growth backend, on one that has a fault for each of them. The faults are planted in its database, so that its code is
// the one that is looked at.
import type { Drill, DrillStage } from 'holdfast/drills';
import { drills as whole } from '../../examples/growth-backend/drills.config.ts';
import { type DrilledGrowth, growthStage } from '../../examples/growth-backend/drills/growth-stage.ts';

const FAULTS = `
  -- Every module ends as a dead letter, whatever its kind.
  create function growth.forget_blocking() returns trigger language plpgsql as $$
    begin new.state := 'dlq'; return new; end $$;
  create trigger a_fault before update on holdfast.command for each row when (new.state = 'blocked') execute function growth.forget_blocking();
  -- A projector that is not idempotent: each run makes another suggestion.
  create function growth.suggest_again() returns trigger language plpgsql as $$
    begin
      if exists (select 1 from growth.suggestion s where s.mission_instance_id = new.mission_instance_id)
      then new.suggestion := new.suggestion || ' again'; end if;
      return new;
    end $$;
  create trigger fault before insert on growth.suggestion for each row execute function growth.suggest_again();
  -- What is made at the Git host is not written down.
  create function growth.drop_row() returns trigger language plpgsql as $$ begin return null; end $$;
  create trigger fault before insert on growth.git_resource for each row execute function growth.drop_row();
  -- The score is never kept for signals that were added later.
  create function growth.drop_score() returns trigger language plpgsql as $$
    begin return case when new.signal_id like 'signal-%' then null else new end; end $$;
  create trigger fault before insert on growth.score for each row execute function growth.drop_score();
`;

const brokenStage: DrillStage<DrilledGrowth> = {
  ...growthStage,
  open: async (signal) => {
    const growth = await growthStage.open(signal);
    await growth.query(FAULTS);
    return growth;
  },
};

export const drills: readonly Drill[] = whole.map((one) =>
  Object.assign({}, one, { stage: brokenStage as DrillStage<unknown> }),
);
