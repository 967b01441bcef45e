/** How many error groups the dead letters have. A multiple of 60, so that each has one handler, type and code. */
export const GROUPS = 600;

/** The group of dead letter `n`, in SQL. */
export const GROUP_ID: string = `'1-' || substr(md5((n % ${GROUPS})::text), 1, 16)`;
