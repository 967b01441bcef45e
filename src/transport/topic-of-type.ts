/** The topic of a type unless a transport is told otherwise: what stands before its last dot, `order` for `order.placed`. */
export function topicOfType(type: string): string {
  const dot = type.lastIndexOf('.');
  return dot > 0 ? type.slice(0, dot) : type;
}
