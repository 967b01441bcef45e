const MONTHS = ['Jan', 'Feb', 'Mar', 'Apr', 'May', 'Jun', 'Jul', 'Aug', 'Sep', 'Oct', 'Nov', 'Dec'];
const MONTH = MONTHS.join('|');
const CLOCK = '(\\d{2}):(\\d{2}):(\\d{2})';
const FIFTY_YEARS_MS = 50 * 365.25 * 86_400_000;

// Sun, 06 Nov 1994 08:49:37 GMT
const IMF_FIXDATE = new RegExp(`^(?:Mon|Tue|Wed|Thu|Fri|Sat|Sun), (\\d{2}) (${MONTH}) (\\d{4}) ${CLOCK} GMT$`);
// Sunday, 06-Nov-94 08:49:37 GMT
const RFC_850 = new RegExp(`^(?:Mon|Tues|Wednes|Thurs|Fri|Satur|Sun)day, (\\d{2})-(${MONTH})-(\\d{2}) ${CLOCK} GMT$`);
// Sun Nov  6 08:49:37 1994
const ASCTIME = new RegExp(`^(?:Mon|Tue|Wed|Thu|Fri|Sat|Sun) (${MONTH}) ([ \\d]\\d) ${CLOCK} (\\d{4})$`);

/**
 * Epoch milliseconds of an HTTP date in any of the three forms a recipient has to accept (RFC 9110, 5.6.7), or
 * `undefined` for everything else, ISO dates too. A two-digit year is the latest one that is not more than 50 years
 * after `nowWallMs`. The name of the weekday is not compared with the date.
 */
export function parseHttpDate(text: string, nowWallMs: number): number | undefined {
  const imf = IMF_FIXDATE.exec(text);
  if (imf) return epochMs(imf[3], imf[2], imf[1], imf.slice(4));
  const asctime = ASCTIME.exec(text);
  if (asctime) return epochMs(asctime[6], asctime[1], asctime[2], asctime.slice(3, 6));
  const rfc850 = RFC_850.exec(text);
  if (!rfc850) return undefined;
  let latest: number | undefined;
  for (let century = 19; century <= 29; century++) {
    const at = epochMs(`${century}${rfc850[3]}`, rfc850[2], rfc850[1], rfc850.slice(4));
    if (at !== undefined && at <= nowWallMs + FIFTY_YEARS_MS) latest = at;
  }
  return latest;
}

function epochMs(
  year: string | undefined,
  month: string | undefined,
  day: string | undefined,
  clock: readonly string[],
): number | undefined {
  const midnight = Date.UTC(Number(year), MONTHS.indexOf(month ?? ''), Number(day));
  const [hour = 0, minute = 0, second = 0] = clock.map(Number);
  // A day that the month does not have lands in another one. 60 is a leap second, read as the start of the next minute.
  const exists = new Date(midnight).getUTCDate() === Number(day) && hour <= 23 && minute <= 59 && second <= 60;
  return exists ? midnight + ((hour * 60 + minute) * 60 + second) * 1000 : undefined;
}
