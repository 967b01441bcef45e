/** The number in a variable of the environment; nothing where it is not set. Where it is no such number, says so and ends the process. */
export function numberSetting(
  name: string,
  form: RegExp,
  [min, max]: readonly [number, number],
  kind: string,
): number | undefined {
  const text = process.env[name];
  if (text === undefined || text === '') return undefined;
  const value = Number(text);
  if (form.test(text) && value >= min && value <= max) return value;
  console.error(`${name} is "${text}"; write ${kind} from ${min} to ${max}, or leave it out.`);
  process.exit(1);
}
