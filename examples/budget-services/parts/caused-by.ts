import type { HandlerContext, SendOptions } from 'holdfast';

/** What a message says that is sent because of another: whose consequence it is, and which purchase it belongs to. */
export function causedBy({
  id,
  correlationId,
  headers,
}: Pick<HandlerContext<never>, 'id' | 'correlationId' | 'headers'>): SendOptions {
  const sagaId = headers['saga-id'];
  return { correlationId, causationId: id, ...(sagaId === undefined ? {} : { headers: { 'saga-id': sagaId } }) };
}
