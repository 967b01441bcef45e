const SECRET_PART = /apikey|authorization|cookie|credential|passphrase|passw|secret|signature|token/i;
const SECRET_WORDS = ['auth', 'bearer', 'jwt', 'key', 'keys', 'otp', 'pass', 'pin', 'pwd', 'session', 'sig'];

/** What is shown in the place of a secret. */
export const HIDDEN = '[hidden]';

/** True when the name of a field, parameter or setting speaks of a secret. 'author' and 'keyword' do not. */
export function isSecretName(name: string): boolean {
  const known = judged.get(name);
  if (known !== undefined) return known;
  const isSecret = judge(name);
  // Programs use few names; what clients make up is not remembered for long.
  if (judged.size >= MOST_JUDGED) judged.clear();
  if (name.length <= LONGEST_JUDGED) judged.set(name, isSecret);
  return isSecret;
}

const judged = new Map<string, boolean>();
const MOST_JUDGED = 1_000;
const LONGEST_JUDGED = 64;

function judge(name: string): boolean {
  if (SECRET_PART.test(name)) return true;
  const words = name.split(/[^A-Za-z0-9]+|(?<=[a-z0-9])(?=[A-Z])/);
  return words.some((word) => SECRET_WORDS.includes(word.toLowerCase()));
}
