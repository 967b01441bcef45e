import type { ServerResponse } from 'node:http';
import { describe, expect, test } from 'vitest';
import { type GitHost, gitHost } from '../../src/http/index.ts';
import { fastWaits } from './fast-waits.ts';
import { type LocalService, type Seen, sendJson, startService } from './local-service.ts';

/** A small Git host with the habits of Gitea: 422 for users and files that exist, 409 for repositories, 404 for what is absent. */
function startGitHost(
  trouble: (request: Seen, index: number) => number | undefined = () => undefined,
): Promise<LocalService> {
  const kept = new Map<string, object>();
  const places: Record<string, (body: Record<string, string>) => readonly [string, object, number]> = {
    '/api/v1/admin/users': (body) => [`/api/v1/users/${body['username']}`, { id: 1, login: body['username'] }, 422],
    '/api/v1/admin/users/pat/repos': (body) => [
      `/api/v1/repos/pat/${body['name']}`,
      { id: 2, name: body['name'], full_name: `pat/${body['name']}` },
      409,
    ],
    '/api/v1/repos/pat/notes/contents/docs/a%20b.md': (body) => [
      '/api/v1/repos/pat/notes/contents/docs/a%20b.md',
      { path: 'docs/a b.md', sha: 'sha-1', content: body['content']?.replaceAll(/(.{4})/g, '$1\n') },
      422,
    ],
  };
  const create = (request: Seen, response: ServerResponse): void => {
    const body = JSON.parse(request.body) as Record<string, string>;
    const [at, value, conflict] = places[request.url]?.(body) ?? [];
    if (at === undefined) return sendJson(response, 404, {});
    if (body['email'] === 'invalid') return sendJson(response, 422, { message: 'email is not valid' });
    if (kept.has(at)) return sendJson(response, conflict ?? 409, { message: 'already exists' });
    kept.set(at, value as object);
    sendJson(response, 201, 'sha' in (value as object) ? { content: value, commit: {} } : value);
  };
  return startService((request, response, i) => {
    const status = trouble(request, i);
    if (status !== undefined) {
      // Done, but the answer is lost on the way.
      if (request.method === 'POST') create(request, { writeHead: () => {}, end: () => {} } as never);
      return sendJson(response, status, {});
    }
    if (request.method === 'POST') return create(request, response);
    const found = kept.get(request.url.split('?', 1)[0] ?? '');
    sendJson(response, found ? 200 : 404, found ?? {});
  });
}

const client = (service: LocalService): GitHost =>
  gitHost({ baseUrl: `${service.url}/api/v1`, token: 'git-token', ...fastWaits().options });
const PAT = { username: 'pat', email: 'pat@example.org', password: 'secret-1' };
const REPO = { owner: 'pat', name: 'notes' };
const FILE = { owner: 'pat', repo: 'notes', path: 'docs/a b.md', content: 'Grüße\n' };

describe('a Git host', () => {
  test('user, repository and file are made once, and found the second time [S0.6]', async () => {
    await using service = await startGitHost();
    const git = client(service);
    expect(await git.ensureUser(PAT)).toEqual({ created: true, value: { id: 1, login: 'pat' } });
    expect(await git.ensureRepo(REPO)).toMatchObject({ created: true, value: { full_name: 'pat/notes' } });
    expect(await git.ensureFile(FILE)).toEqual({
      created: true,
      matches: true,
      value: { path: 'docs/a b.md', sha: 'sha-1' },
    });
    expect(await git.ensureUser(PAT)).toEqual({ created: false, value: { id: 1, login: 'pat' } });
    expect(await git.ensureRepo(REPO)).toMatchObject({ created: false, value: { full_name: 'pat/notes' } });
    expect(await git.ensureFile(FILE)).toEqual({
      created: false,
      matches: true,
      value: { path: 'docs/a b.md', sha: 'sha-1' },
    });
    expect(await git.ensureFile({ ...FILE, content: new Uint8Array([0, 255]), branch: 'main' })).toMatchObject({
      created: false,
      matches: false,
    });
    expect(service.seen.at(-1)?.url).toMatch(/\?ref=main$/);
    for (const { headers } of service.seen) expect(headers.authorization).toBe('token git-token');
  });

  test('what was made by an attempt whose answer was lost is found by the next one [S0.6]', async () => {
    await using service = await startGitHost((_, i) => (i === 0 ? 502 : undefined));
    expect(await client(service).ensureRepo(REPO)).toMatchObject({ created: false, value: { name: 'notes' } });
    expect(service.seen.map((one) => one.method)).toEqual(['POST', 'POST', 'GET']);
  });

  test('a 422 that does not mean "exists" stays an error [S0.6]', async () => {
    await using service = await startGitHost();
    const making = client(service).ensureUser({ ...PAT, email: 'invalid' });
    await expect(making).rejects.toMatchObject({
      code: 'HTTP_STATUS',
      details: { operation: 'git.ensure-user', status: 422 },
    });
  });

  test('a broken token is one request and an error that names the operation [S0.6]', async () => {
    await using service = await startGitHost(() => 401);
    await expect(client(service).ensureUser(PAT)).rejects.toMatchObject({
      details: { operation: 'git.ensure-user', status: 401 },
    });
    expect(service.seen).toHaveLength(1);
  });

  test('a file whose commit lost the race for the branch is written again, and a 403 that means "forbidden" is not [S0.6]', async () => {
    const lost = `cannot lock ref 'refs/heads/main': is at 27b6 but expected c2d0`;
    await using service = await startService((_, response, i) =>
      i === 0
        ? sendJson(response, 403, { message: lost })
        : sendJson(response, 201, { content: { path: FILE.path, sha: 'sha-1' } }),
    );
    expect(await client(service).ensureFile(FILE)).toMatchObject({ created: true, matches: true });
    expect(service.seen.map((one) => one.method)).toEqual(['POST', 'POST']);

    await using closed = await startService((_, response) =>
      sendJson(response, 403, { message: 'user should have a permission to write to the repo' }),
    );
    await expect(client(closed).ensureFile(FILE)).rejects.toMatchObject({ details: { status: 403 } });
    expect(closed.seen).toHaveLength(1);
  });

  test('repositories of organizations and of the token itself have their own places [S0.6]', async () => {
    await using service = await startService((_, response) =>
      sendJson(response, 201, { id: 1, name: 'n', full_name: 'o/n' }),
    );
    const git = client(service);
    await git.ensureRepo({ owner: 'team a', name: 'n', ownerIs: 'organization' });
    await git.ensureRepo({ owner: 'me', name: 'n', ownerIs: 'self', private: false });
    expect(service.seen).toMatchObject([
      { url: '/api/v1/orgs/team%20a/repos', body: '{"name":"n","private":true,"auto_init":true}' },
      { url: '/api/v1/user/repos', body: '{"name":"n","private":false,"auto_init":true}' },
    ]);
  });

  test('a name with dots cannot lead out of the API [S0.6]', async () => {
    await using service = await startGitHost();
    const git = client(service);
    await expect(git.ensureRepo({ owner: '..', name: 'x' })).rejects.toMatchObject({ code: 'INVALID_OPTIONS' });
    await expect(git.ensureFile({ ...FILE, path: '../../admin' })).rejects.toMatchObject({ code: 'INVALID_OPTIONS' });
    expect(service.sockets).toHaveLength(0);
  });

  test('is asked for its version to see whether it is up [S0.6]', async () => {
    await using service = await startService((_, response) => sendJson(response, 200, { version: '1.22' }));
    expect(await client(service).health()).toMatchObject({ kind: 'up' });
    expect(service.seen[0]?.url).toBe('/api/v1/version');
  });
});
