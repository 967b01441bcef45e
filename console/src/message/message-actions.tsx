import { Link } from '@tanstack/react-router';
import { type ReactElement, useState } from 'react';
import { DELIVERY_TYPE } from '../../../src/delivery/delivery-request.ts';
import { CopyButton } from '../parts/copy-button.tsx';
import { Icon } from '../parts/icon.tsx';
import { useActs } from '../shell/acts.tsx';
import { useIsMongodb, useRights, useSession } from '../shell/session.tsx';
import { EditSheet } from './edit-sheet.tsx';
import { cancelAct, discardAct, replayAct, replayChosenAct } from './message-acts.ts';
import type { MessageDetail } from './message-page.tsx';

/** How the same is done on the command line. */
function commandOf({ id, status, deletedAt }: MessageDetail): string {
  return status === 'failed' && deletedAt === undefined ? `holdfast dlq:replay --id ${id}` : `holdfast why ${id}`;
}

function isScheduled({ deliveries, dueAt }: MessageDetail): boolean {
  const wait = deliveries.every(({ status, attempts }) => status === 'waiting' && attempts === 0);
  return deliveries.length > 0 && wait && dueAt !== undefined && Date.parse(dueAt) > Date.now();
}

/** What can be done to a message by who looks at it. What cannot is not shown. */
export function MessageActions({ message }: { readonly message: MessageDetail }): ReactElement {
  const { canOperate, canAdminister } = useRights();
  const { ask } = useActs();
  const { isDelivering } = useSession();
  const isMongodb = useIsMongodb();
  const [isEditing, setEditing] = useState(false);
  const { id, deliveries } = message;
  const failed = deliveries.filter(({ status }) => status === 'failed').length;
  const open = deliveries.filter(({ status }) => status === 'ready' || status === 'waiting').length;
  const hasDone = deliveries.some(({ status }) => status === 'delivered');
  // On MongoDB each inbox has a payload of its own: what an outbox has published stays as it was, whatever becomes of that.
  const isUsed = deliveries.some((one) => one.status === 'delivered' && !(isMongodb && one.handler?.startsWith('to-')));
  const names = deliveries.flatMap(({ service, handler }) => (handler === undefined ? [] : [`${service}/${handler}`]));
  return (
    <div className="action-row">
      {canOperate && failed > 0 ? (
        <button type="button" className="primary" data-act="replay" onClick={() => ask(replayAct(id, failed))}>
          <Icon name="replay" /> Replay{failed > 1 ? ` ${failed}` : ''}
        </button>
      ) : null}
      {canOperate && names.length > 0 && open < names.length ? (
        <button type="button" onClick={() => ask(replayChosenAct(id, names, canAdminister && hasDone && !isMongodb))}>
          Replay chosen …
        </button>
      ) : null}
      {canAdminister && failed > 0 && !isUsed ? (
        <button type="button" onClick={() => setEditing(true)}>
          <Icon name="edit" /> Edit and replay
        </button>
      ) : null}
      {canOperate && isScheduled(message) ? (
        <button type="button" onClick={() => ask(cancelAct(id))}>
          Cancel
        </button>
      ) : null}
      {canOperate && failed + open > 0 ? (
        <button type="button" onClick={() => ask(discardAct(id, failed > 0 ? failed : open, failed === 0))}>
          <Icon name="discard" /> Discard
        </button>
      ) : null}
      {isDelivering && message.type === DELIVERY_TYPE ? (
        <Link className="button" to="/deliveries/$id" params={{ id }}>
          <Icon name="deliveries" /> Delivery
        </Link>
      ) : null}
      <CopyButton text={commandOf(message)} label="Copy as a command" word="Copy as command" />
      {isEditing ? <EditSheet message={message} close={() => setEditing(false)} /> : null}
    </div>
  );
}
