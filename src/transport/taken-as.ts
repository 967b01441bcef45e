/** What a message is taken as that a service publishes through a transport. */
export function publishedAs(service: string, transport: string): string {
  return `>${service}/${transport}`;
}

/** What a message of a type is taken as that a service has received through a transport. */
export function receivedAs(service: string, type: string): string {
  return `<${service}/${type}`;
}
