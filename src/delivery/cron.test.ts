import { describe, expect, test } from 'vitest';

import { type Cron, parseCron } from './cron.ts';

function cronOf(text: string): Cron {
  const reading = parseCron(text);
  if (reading.kind === 'refused') throw new Error(reading.message);
  return reading.cron;
}

function refusalOf(text: string): string {
  const reading = parseCron(text);
  return reading.kind === 'refused' ? reading.message : 'read';
}

describe('reading a cron', () => {
  test('Lists, ranges, steps and names of a cron are read, and 7 is Sunday [X.8]', () => {
    const cron = cronOf(' 0,30 9-17/4 1,15 jan-MAR,Dec 5-7 ');
    expect(cron.minutes).toEqual([0, 30]);
    expect(cron.hours).toEqual([9, 13, 17]);
    expect(cron.days).toEqual([1, 15]);
    expect(cron.months).toEqual([1, 2, 3, 12]);
    expect(cron.weekdays).toEqual([0, 5, 6]);
    expect(cronOf('5/20 * ? * SAT-SUN')).toMatchObject({ minutes: [5, 25, 45], weekdays: [0, 6], isAnyDay: true });
  });

  test('The short words of crontab stand for their five fields, and a zone may come first [X.8]', () => {
    expect(cronOf('@daily')).toEqual(cronOf('0 0 * * *'));
    expect(cronOf('CRON_TZ=Europe/Berlin @hourly').zone.name).toBe('Europe/Berlin');
    expect(cronOf('TZ=Asia/Kathmandu 0 9 * * 1').zone.offsetAt(0)).toBe(5.5 * 3_600_000);
    expect(cronOf('0 9 * * 1').zone.name).toBe('UTC');
  });

  test.for([
    ['* * * *', 'has 4 of five fields'],
    ['0 0 0 * * *', 'leave out seconds'],
    ['61 * * * *', 'not within 0 and 59'],
    ['0 24 * * *', 'not within 0 and 23'],
    ['0 0 0 * *', 'not within 1 and 31'],
    ['0 0 * 13 *', 'not within 1 and 12'],
    ['0 0 * * 8', 'not within 0 and 6'],
    ['0 0 * * fridai', 'a name such as MON'],
    ['1-2-3 * * * *', 'cannot be read'],
    [',1 * * * *', 'cannot be read'],
    ['*/0 * * * *', 'write */5'],
    ['*/90 * * * *', 'it would come once'],
    ['50-10 * * * *', 'write two ranges, as 50-59,0-10'],
    ['@every 5m', 'write five fields, or one of @yearly'],
    ['CRON_TZ=Mars/Olympus 0 0 * * *', 'write one as CRON_TZ=Europe/Berlin'],
    ['CRON_TZ= 0 0 * * *', 'write one as CRON_TZ=Europe/Berlin'],
    ['', 'has 0 of five fields'],
    ['1,'.repeat(600), 'longer than'],
  ] as const)('The cron %j is refused, and the next step is told [X.8]', ([text, part]) => {
    expect(refusalOf(text)).toContain(part);
  });

  test('A cron that never comes is refused, one that comes by its weekday is not [X.8]', () => {
    expect(refusalOf('0 0 30 2 *')).toContain('never comes');
    expect(refusalOf('0 0 31 2,4,6,9,11 *')).toContain('never comes');
    expect(refusalOf('0 0 29 2 *')).toBe('read');
    expect(refusalOf('0 0 30 2 1')).toBe('read');
  });
});
