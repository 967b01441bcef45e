const SECRET_PART = /apikey|authorization|cookie|credential|passphrase|passw|secret|signature|token/i;
const SECRET_WORDS = ['auth', 'bearer', 'jwt', 'key', 'keys', 'otp', 'pass', 'pin', 'pwd', 'session', 'sig'];

/** What is shown in the place of a secret. */
export const HIDDEN = '[hidden]';

/** True when the name of a field, parameter or setting speaks of a secret. 'author' and 'keyword' do not. */
export function isSecretName(name: string): boolean {
  if (SECRET_PART.test(name)) return true;
  const words = name.split(/[^A-Za-z0-9]+|(?<=[a-z0-9])(?=[A-Z])/);
  return words.some((word) => SECRET_WORDS.includes(word.toLowerCase()));
}
