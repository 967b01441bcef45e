import { findServer } from '../find-server.ts';
import { fetchKafkaJars, findKafkaJars } from '../kafka-jars.ts';
import { planKafka, probeKafka, withAdmin } from '../kafka-server.ts';
import type { Service } from '../service.ts';

/** Apache Kafka. Its URL is `host:port`; each test file owns the topics and groups that start with its namespace. */
export const kafka: Service = {
  howTo: 'start a Kafka on port 9092 (docker compose up -d kafka does), or set HOLDFAST_KAFKA_URL to its host:port',
  obtain: async (run) => {
    const beganMs = performance.now();
    const url = await findServer(run, {
      name: 'kafka',
      variable: 'HOLDFAST_KAFKA_URL',
      port: 9092,
      localUrls: [localUrl(9092)],
      probe: probeKafka,
      compose: { service: 'kafka', portVariable: 'HOLDFAST_KAFKA_PORT', url: localUrl },
      own: {
        findProgram: findKafkaJars,
        install: fetchKafkaJars,
        plan: async (jars, folder, port) => {
          const { before = [], server } = await planKafka(jars, folder, port);
          return { before, ...(server && { server }) };
        },
        url: localUrl,
      },
    });
    run.announce(`Kafka answers after ${((performance.now() - beganMs) / 1000).toFixed(1)} s`);
    return url;
  },
  clean: (url, namespace) =>
    withAdmin(url, async (admin) => {
      const topics = (await admin.listTopics()).filter((topic) => topic.startsWith(namespace));
      if (topics.length > 0) await admin.deleteTopics({ topics });
    }),
};

function localUrl(port: number): string {
  return `127.0.0.1:${port}`;
}
