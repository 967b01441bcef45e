import type { TransportRoute } from 'holdfast';
import { rabbitmq } from 'holdfast/rabbitmq';
import type { Settings } from './settings.ts';

/** Orders go through RabbitMQ: from `orders` to `expenses`. */
export function ordersWay({ rabbitmqUrl, prefix }: Settings): TransportRoute {
  return { events: ['order.*'], transport: rabbitmq({ url: rabbitmqUrl, prefix }) };
}
