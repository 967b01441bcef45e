import { fetchKafkaJars, findKafkaJars } from '../kafka-jars.ts';
import type { Service } from '../service.ts';

/** The program of Kafka, for tests that stop, hang and restart a broker of their own. Its "URL" is the folder with its jars. */
export const kafkaJars: Service = {
  howTo: 'install Java and Maven, and let Maven reach a repository that has org.apache.kafka',
  obtain: async (run) => {
    if (findKafkaJars() === undefined) await fetchKafkaJars(run);
    const found = findKafkaJars();
    if (found === undefined) throw new Error('the jars of Kafka were fetched but are not there');
    return found;
  },
};
