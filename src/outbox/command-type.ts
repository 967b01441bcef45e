/** How the types of commands begin. They never leave their database, and are taken by the service that sent them alone. */
export const COMMAND_PREFIX = 'command:';

/** What a command of a service is taken as: two services on one database may have commands of one name. */
export function commandTakenAs(service: string, type: string): string {
  return `!${service}/${type}`;
}

/** The name of the handler that all commands of a service stand in line for. */
export const COMMANDS_HANDLER = 'commands';
