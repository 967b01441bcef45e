/**
 * A database of the driver: `client.db('shop')`. Written down here so that the types of this package need no driver; `Session` is the
 * driver's own.
 */
export interface MongoDatabase<Session> {
  readonly databaseName: string;
  readonly client: { startSession(): Session };
  collection(name: string): unknown;
  admin(): unknown;
}
