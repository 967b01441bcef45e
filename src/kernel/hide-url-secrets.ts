import { HIDDEN, isSecretName } from './secret-name.ts';

const URL_START = /^([a-z][a-z0-9+.-]{0,30}:\/\/)([^/?#\\]*@)?/i;
const PARAMETER = /([?&#;])([^=&#;?]{1,200})=([^&#;]*)/g;

/**
 * The URL with what it says of secrets replaced by `[hidden]`: user and password, and parameters whose names speak of one. The rest of it
 * stays as it is, so that people see where something goes. A text that is no absolute URL is returned as it is.
 */
export function hideUrlSecrets(url: string): string {
  const start = URL_START.exec(url);
  if (start === null) return url;
  const [head, scheme = '', user] = start;
  const rest = url.slice(head.length).replace(PARAMETER, (all, sign: string, name: string, value: string) => {
    return value !== '' && isSecretName(decoded(name)) ? `${sign}${name}=${HIDDEN}` : all;
  });
  return `${scheme}${user === undefined ? '' : `${HIDDEN}@`}${rest}`;
}

function decoded(name: string): string {
  try {
    return decodeURIComponent(name);
  } catch {
    return name;
  }
}
