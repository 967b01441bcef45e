import type { Service } from '../service.ts';
import { chromium } from './chromium.ts';
import { embeddedPostgres } from './embedded-postgres.ts';
import { gitea } from './gitea.ts';
import { kafka } from './kafka.ts';
import { kafkaJars } from './kafka-jars.ts';
import { kubernetesValidate } from './kubernetes-validate.ts';
import { mongod } from './mongod.ts';
import { mongodb } from './mongodb.ts';
import { nats } from './nats.ts';
import { natsServer } from './nats-server.ts';
import { nginx } from './nginx.ts';
import { pgbouncer } from './pgbouncer.ts';
import { pm2 } from './pm2.ts';
import { postgres } from './postgres.ts';
import { prometheus } from './prometheus.ts';
import { qstashGo } from './qstash-go.ts';
import { qstashPython } from './qstash-python.ts';
import { rabbitmq } from './rabbitmq.ts';
import { rabbitmqServer } from './rabbitmq-server.ts';
import { redis } from './redis.ts';
import { redisServer } from './redis-server.ts';

/** Every service a test can ask for by name. A new one is a file beside this one and a line here. */
export const SERVICES = {
  chromium,
  embeddedPostgres,
  gitea,
  kafka,
  kafkaJars,
  kubernetesValidate,
  mongod,
  mongodb,
  nats,
  natsServer,
  nginx,
  pgbouncer,
  pm2,
  postgres,
  prometheus,
  qstashGo,
  qstashPython,
  rabbitmq,
  rabbitmqServer,
  redis,
  redisServer,
} satisfies Record<string, Service>;

export type ServiceName = keyof typeof SERVICES;
