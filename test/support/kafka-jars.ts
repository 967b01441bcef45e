import { execFile } from 'node:child_process';
import { existsSync, mkdirSync, mkdtempSync, readdirSync, rmSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { promisify } from 'node:util';
import { installDebianPackage, onPath } from './find-server.ts';
import { cacheFolder, renameUnlessThere } from './program-cache.ts';
import type { TestRun } from './service.ts';

const exec = promisify(execFile);
const VERSION = '4.1.1';

// No package manager has Kafka; Maven Central has all of it.
const POM = `<project xmlns="http://maven.apache.org/POM/4.0.0">
  <modelVersion>4.0.0</modelVersion>
  <groupId>holdfast</groupId>
  <artifactId>kafka-jars</artifactId>
  <version>1</version>
  <dependencies>
    <dependency><groupId>org.apache.kafka</groupId><artifactId>kafka_2.13</artifactId><version>${VERSION}</version></dependency>
    <dependency><groupId>org.slf4j</groupId><artifactId>slf4j-simple</artifactId><version>1.7.36</version></dependency>
  </dependencies>
</project>
`;

/** The folder with the jars of Kafka, kept from run to run, if they are there and there is a Java to run them. */
export function findKafkaJars(): string | undefined {
  const folder = join(cacheFolder(), `kafka-${VERSION}`);
  return existsSync(folder) && onPath('java') !== undefined ? folder : undefined;
}

/** Fetches the jars, and installs Java and Maven where they are missing. */
export async function fetchKafkaJars(run: TestRun): Promise<void> {
  if (onPath('java') === undefined) await installDebianPackage(run, 'default-jre-headless');
  if (findKafkaJars() !== undefined) return;
  if (onPath('mvn') === undefined) await installDebianPackage(run, 'maven');
  const cache = cacheFolder();
  run.announce(`Fetching Apache Kafka ${VERSION} into ${cache} with Maven …`);
  mkdirSync(cache, { recursive: true });
  const work = mkdtempSync(join(cache, 'fetching-'));
  try {
    writeFileSync(join(work, 'pom.xml'), POM);
    const jars = ['-DincludeScope=runtime', '-DoutputDirectory=jars'];
    await exec('mvn', ['-q', '-B', 'dependency:copy-dependencies', ...jars], { cwd: work, timeout: 600_000 });
    if (!readdirSync(join(work, 'jars')).some((file) => file.startsWith('kafka_2.13')))
      throw new Error('Maven fetched no Kafka');
    // Whole or not at all; and when another run was quicker, its folder stays.
    renameUnlessThere(join(work, 'jars'), join(cache, `kafka-${VERSION}`));
  } finally {
    rmSync(work, { recursive: true, force: true });
  }
}
