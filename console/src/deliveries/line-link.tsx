import { Link } from '@tanstack/react-router';
import type { ReactElement } from 'react';
import type { Delivery } from './delivery-state.ts';
import { storedNames } from './stored-names.ts';

/** It stands in a line besides that of its destination, or came from somewhere. */
export function hasLine({ queue, flowKey, scheduleId, group, endpointId }: Delivery['request']): boolean {
  return [queue, flowKey, scheduleId, group, endpointId].some((one) => one !== undefined);
}

/** The line a delivery stands in besides that of its destination. */
export function LineLink({ request }: Pick<Delivery, 'request'>): ReactElement {
  const { endpointId } = request;
  const { queue, flowKey, scheduleId, group } = storedNames(request);
  if (endpointId !== undefined) {
    return (
      <Link to="/endpoints/$id" params={{ id: endpointId }} title={endpointId}>
        endpoint
      </Link>
    );
  }
  if (queue !== undefined) return <To word="queue" name={queue} search={{ queue }} />;
  if (flowKey !== undefined) return <To word="flow" name={flowKey} search={{ flowKey }} />;
  if (scheduleId !== undefined) return <To word="schedule" name={scheduleId} search={{ scheduleId }} />;
  if (group !== undefined) return <To word="group" name={group} search={{ group }} />;
  return <span className="muted">–</span>;
}

function To({
  word,
  name,
  search,
}: {
  readonly word: string;
  readonly name: string;
  readonly search: Readonly<Record<string, string>>;
}): ReactElement {
  return (
    <>
      <span className="muted">{word}</span>{' '}
      <Link to="/deliveries" search={search}>
        <bdi>{name}</bdi>
      </Link>
    </>
  );
}
