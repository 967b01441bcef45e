import { field, textField } from './field.ts';

/** The SQLSTATE below an error of Prisma 7, which has codes of its own (`P2002`, `P2010`, `P2034`). */
export function prismaState(error: unknown): string | undefined {
  return textField(field(field(error, 'meta', 'driverAdapterError'), 'cause'), 'originalCode');
}
