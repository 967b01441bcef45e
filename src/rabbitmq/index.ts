export type { AmqpLibrary } from './amqp-client.ts';
export { rabbitmq, type RabbitmqOptions } from './rabbitmq.ts';
