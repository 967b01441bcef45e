import { Ajv2020 } from 'ajv/dist/2020.js';
import { expect } from 'vitest';

/** What is looked at of an OpenAPI document. */
export interface ApiDocument {
  readonly paths: Readonly<Record<string, Readonly<Record<string, Operation>>>>;
  readonly components: { readonly schemas: { readonly Problem: object } };
}
interface Operation {
  readonly operationId: string;
  readonly responses: Record<string, { readonly content: Record<string, { readonly schema: object }> }>;
}

/** Calls over a socket; each answer is held against the document, and the routes that gave one are noted. */
export function checkedFetch(document: ApiDocument, basePath: string, answered: Set<string>): typeof fetch {
  const ajv = new Ajv2020({ strict: false });
  ajv.addFormat('date-time', (text) => new Date(text).toISOString() === text);
  return async (input, init) => {
    const response = await fetch(input, init);
    const path = new URL(input as URL).pathname.slice(basePath.length);
    const found = Object.entries(document.paths).filter(([template]) => fitsPath(template, path));
    const [, operations] = found.find(([one]) => !one.includes('{')) ?? found[0] ?? ['', {}];
    const operation = operations[init?.method?.toLowerCase() ?? 'get'];
    expect(operation, `${init?.method} ${path} is in the document`).toBeDefined();
    const status = response.status === 200 ? '200' : 'default';
    const type = (response.headers.get('content-type') ?? '').split(';')[0] ?? '';
    const given = operation?.responses[status]?.content[type]?.schema;
    const schema = given !== undefined && '$ref' in given ? document.components.schemas.Problem : given;
    expect(schema, `${operation?.operationId} ${response.status} ${type} is in the document`).toBeDefined();
    const check = schema && ajv.compile(schema);
    check?.(await response.clone().json());
    expect(check?.errors ?? [], `${operation?.operationId} ${response.status}`).toEqual([]);
    if (response.status === 200) answered.add(operation?.operationId ?? '');
    return response;
  };
}

function fitsPath(template: string, path: string): boolean {
  return new RegExp(`^${template.replaceAll(/\{\w+\}/g, '[^/]+')}$`).test(path);
}
