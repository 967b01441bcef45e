import { expect } from 'vitest';
import { type GitHost, gitHost, type HttpAttempt } from '../../src/http/index.ts';
import { needs } from '../support/needs.ts';
import { type GiteaServer, startGitea } from './gitea-server.ts';

const test = needs('gitea').extend<{ server: GiteaServer }>({
  server: async ({ gitea }, use) => use(await startGitea(gitea.url)),
});

const ADA = { username: 'ada', email: 'ada@users.invalid', password: 'Not-told-to-any0ne' };
const REPO = { owner: 'ada', name: 'run-1' };
const FILE = { owner: 'ada', repo: 'run-1', path: 'docs/plan ä.md', content: '# Plan\n' };

/** The client, and what each of its attempts was answered. It waits as long as a busy machine needs. */
function clientOf({ api: baseUrl, token }: GiteaServer): { readonly git: GitHost; readonly statuses: number[] } {
  const statuses: number[] = [];
  const onAttempt = ({ httpStatus }: HttpAttempt): void => void statuses.push(httpStatus ?? 0);
  return { git: gitHost({ baseUrl, token, onAttempt, policy: { maxAttempts: 9, timeoutMs: 120_000 } }), statuses };
}

test('a real Gitea makes users, repositories and files that are absent, and repeats make nothing twice [S0.6]', async ({
  server,
}) => {
  const { git, statuses } = clientOf(server);
  expect(await git.health({ timeoutMs: 60_000 })).toEqual({ kind: 'up', status: 200, attempts: 1 });
  const user = await git.ensureUser(ADA);
  const repo = await git.ensureRepo(REPO);
  const file = await git.ensureFile(FILE);
  expect([user.created, repo.created, file.created]).toEqual([true, true, true]);
  expect(user.value.login).toBe('ada');
  expect(repo.value.full_name).toBe('ada/run-1');
  expect(file).toMatchObject({ value: { path: FILE.path }, matches: true });
  expect(statuses.splice(0)).toEqual([200, 201, 201, 201]);

  expect(await git.ensureUser(ADA)).toMatchObject({ created: false, value: { id: user.value.id } });
  expect(await git.ensureRepo(REPO)).toMatchObject({ created: false, value: { id: repo.value.id } });
  expect(await git.ensureFile(FILE)).toEqual({ ...file, created: false });
  // 422 for users and files that are there, 409 for repositories; each is looked for before it is believed.
  expect(statuses.splice(0)).toEqual([422, 200, 409, 200, 422, 200]);
  expect(await git.ensureFile({ ...FILE, content: 'another' })).toEqual({ ...file, created: false, matches: false });
});

test('of many callers at once a real Gitea makes each thing once', async ({ server }) => {
  const { git } = clientOf(server);
  const four = <T>(make: () => Promise<T>): Promise<T[]> => Promise.all([1, 2, 3, 4].map(make));
  const users = await four(() => git.ensureUser(ADA));
  const repos = await four(() => git.ensureRepo(REPO));
  const files = await four(() => git.ensureFile(FILE));
  for (const made of [users, repos]) expect(new Set(made.map(({ value }) => value.id)).size).toBe(1);
  for (const made of [users, repos]) expect(made.filter(({ created }) => created)).toHaveLength(1);
  expect(new Set(files.map(({ value }) => value.sha)).size).toBe(1);
  expect(files.every(({ matches }) => matches)).toBe(true);
  // Their commits race for one branch; who loses is answered 403, and goes on.
  const others = await Promise.all(
    [1, 2, 3, 4].map((n) => git.ensureFile({ ...FILE, path: `other-${n}.md`, content: `${n}` })),
  );
  expect(others.every(({ matches }) => matches)).toBe(true);
  const commits = await fetch(`${server.api}/repos/ada/run-1/commits?path=${encodeURIComponent(FILE.path)}`, {
    headers: { authorization: `token ${server.token}` },
  });
  expect(await commits.json()).toHaveLength(1);
});

test('a real Gitea refuses a wrong token at the first attempt, and what is invalid is not taken for what is there', async ({
  server,
}) => {
  const wrong = clientOf({ ...server, token: 'wrong' });
  expect(await wrong.git.health({ timeoutMs: 60_000 })).toMatchObject({ kind: 'unavailable', status: 401 });
  await expect(wrong.git.ensureUser(ADA)).rejects.toMatchObject({ code: 'HTTP_STATUS' });
  await expect(wrong.git.ensureRepo(REPO)).rejects.toMatchObject({ code: 'HTTP_STATUS' });
  await expect(wrong.git.ensureFile(FILE)).rejects.toMatchObject({ code: 'HTTP_STATUS' });
  expect(wrong.statuses).toEqual([401, 401, 401, 401]);

  const { git, statuses } = clientOf(server);
  await git.ensureUser(ADA);
  // The name is free and the address is taken: 422, and nobody of that name is there.
  await expect(git.ensureUser({ ...ADA, username: 'bob' })).rejects.toMatchObject({ code: 'HTTP_STATUS' });
  await expect(git.ensureRepo({ ...REPO, owner: 'nobody' })).rejects.toMatchObject({ code: 'HTTP_STATUS' });
  expect(statuses).toEqual([201, 422, 404, 404]);
});
