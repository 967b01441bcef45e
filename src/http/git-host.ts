import { isHoldfastError } from '../kernel/error.ts';
import type { StandardSchema } from '../kernel/standard-schema.ts';
import type { Classify } from '../retry/failure.ts';
import type { CallOptions } from './call-options.ts';
import type { ServiceClientOptions } from './client-options.ts';
import { answerOf } from './error-answer.ts';
import { type Health, probeHealth, type ProbeOptions } from './probe-health.ts';
import { requireObject } from './require-object.ts';
import { type CreateRequest, serviceClient } from './service-client.ts';
import { isRecord, schemaOf, shape, type Shaped } from './shape.ts';
import { path } from './target-url.ts';

/** What `gitHost` takes: the options of `serviceClient` with a `token` in place of `bearer`. */
export interface GitHostOptions extends Omit<ServiceClientOptions, 'bearer'> {
  /** Sent as `authorization: token …`, the way Gitea and Forgejo want it; `authScheme: 'Bearer'` changes the word. */
  readonly token: string | (() => string | Promise<string>);
}

/** A thing that is there now. */
export interface Ensured<T> {
  /** False when it was there before, or was made by an earlier attempt of the same call. */
  readonly created: boolean;
  readonly value: T;
}

export type GitUser = Shaped<{ id: 'number'; login: 'string' }>;
export type GitRepo = Shaped<{ id: 'number'; name: 'string'; full_name: 'string' }>;
export interface GitFile {
  readonly path: string;
  readonly sha: string;
}

export interface NewGitUser {
  readonly username: string;
  readonly email: string;
  readonly password: string;
  /** Default false: services do not log in by hand. */
  readonly mustChangePassword?: boolean;
}

export interface NewGitRepo {
  readonly owner: string;
  readonly name: string;
  /** Who the owner is. Default `user`, which needs an administrator's token; `self` is the token's own account. */
  readonly ownerIs?: 'user' | 'organization' | 'self';
  /** Default true. */
  readonly private?: boolean;
  readonly description?: string;
  /** Makes the first commit, so that files can be added at once. Default true. */
  readonly autoInit?: boolean;
  readonly defaultBranch?: string;
}

export interface NewGitFile {
  readonly owner: string;
  readonly repo: string;
  /** Inside the repository, with `/` between folders. */
  readonly path: string;
  readonly content: string | Uint8Array;
  /** Of the commit. Default `Add <path>`. */
  readonly message?: string;
  /** Default: the repository's own. */
  readonly branch?: string;
}

/** Users, repositories and files of a Git host. Each call makes the thing if it is absent; calling twice does no harm. */
export interface GitHost {
  ensureUser(user: NewGitUser, call?: CallOptions): Promise<Ensured<GitUser>>;
  ensureRepo(repo: NewGitRepo, call?: CallOptions): Promise<Ensured<GitRepo>>;
  /** A file that is there is left as it is; `matches` says whether it holds the same bytes. */
  ensureFile(file: NewGitFile, call?: CallOptions): Promise<Ensured<GitFile> & { readonly matches: boolean }>;
  health(options?: ProbeOptions): Promise<Health>;
}

const USER = shape({ id: 'number', login: 'string' });
const REPO = shape({ id: 'number', name: 'string', full_name: 'string' });

// These hosts say "it exists" by 409 for repositories and by 422, which also means "invalid", for users and files. Every
// call therefore looks for the thing itself before it believes either.
const CONFLICTS = [409, 422];

/** A client for the REST API of Gitea and Forgejo (`baseUrl` ends in `/api/v1`). */
export function gitHost(options: GitHostOptions): GitHost {
  requireObject('gitHost()', 'options', options, 'pass an object with baseUrl and token');
  const { token, classify, ...rest } = options;
  const client = serviceClient({ authScheme: 'token', ...rest, classify: retryLostRaces(classify), bearer: token });
  const ensure = async <T>(request: EnsureRequest, schema: StandardSchema<T>): Promise<Ensured<T>> => {
    const { created, data } = await client.createIfAbsent({ conflicts: CONFLICTS, ...request, schema });
    // Checked by the schema, both when it was made and when it was found.
    return { created, value: data as T };
  };
  return {
    async ensureUser(user, call) {
      requireObject('ensureUser()', 'user', user, 'pass an object with username, email and password');
      return ensure({ ...call, ...userRequest(user) }, USER);
    },
    async ensureRepo(repo, call) {
      requireObject('ensureRepo()', 'repo', repo, 'pass an object with owner and name');
      return ensure({ ...call, ...repoRequest(repo) }, REPO);
    },
    async ensureFile(file, call) {
      requireObject('ensureFile()', 'file', file, 'pass an object with owner, repo, path and content');
      const content = base64(file.content);
      const { created, value } = await ensure({ ...call, ...fileRequest(file, content) }, FILE);
      const { path: at, sha } = fileOf(value);
      return { created, value: { path: at, sha }, matches: created || unwrapped(value['content']) === content };
    },
    health: (probe = {}) => probeHealth(client, { operation: 'git.health', path: '/version', ...probe }),
  };
}

// Gitea answers 403 when another commit reached the branch first; nothing was written then, and the next attempt begins from there.
const LOST_RACE = /cannot lock ref/;

function retryLostRaces(before: Classify | undefined): Classify {
  return (error) => {
    const own = before?.(error);
    if (own !== undefined) return own;
    const answer = isHoldfastError(error, 'HTTP_STATUS') ? answerOf(error) : undefined;
    return answer?.status === 403 && LOST_RACE.test(answer.text) ? 'retry' : undefined;
  };
}

type EnsureRequest = CallOptions & Pick<CreateRequest, 'operation' | 'path' | 'json' | 'existing'>;

function userRequest(user: NewGitUser): EnsureRequest {
  const { username, email, password, mustChangePassword = false } = user;
  return {
    operation: 'git.ensure-user',
    path: '/admin/users',
    json: { username, email, password, must_change_password: mustChangePassword },
    existing: { path: path`/users/${username}` },
  };
}

function repoRequest(repo: NewGitRepo): EnsureRequest {
  const { owner, name, ownerIs = 'user', description, autoInit = true, defaultBranch } = repo;
  const places = {
    user: path`/admin/users/${owner}/repos`,
    organization: path`/orgs/${owner}/repos`,
    self: '/user/repos',
  };
  return {
    operation: 'git.ensure-repo',
    path: places[ownerIs],
    json: { name, private: repo.private ?? true, description, auto_init: autoInit, default_branch: defaultBranch },
    existing: { path: path`/repos/${owner}/${name}` },
  };
}

function fileRequest(file: NewGitFile, content: string): EnsureRequest {
  const { owner, repo, branch, message = `Add ${file.path}` } = file;
  const inside = file.path.split('/').map((piece) => path`/${piece}`);
  const at = path`/repos/${owner}/${repo}/contents` + inside.join('');
  return {
    operation: 'git.ensure-file',
    path: at,
    json: { content, message, branch },
    existing: { path: at, query: { ref: branch } },
  };
}

type FileAnswer = Readonly<Record<string, unknown>>;

/** A created file comes inside `content`, beside its commit; one that is asked for comes by itself, with its bytes in `content`. */
function fileOf(answer: FileAnswer): GitFile {
  return (isRecord(answer['content']) ? answer['content'] : answer) as unknown as GitFile;
}

const FILE = schemaOf<FileAnswer>((value) => {
  if (!isRecord(value)) return [{ message: 'not an object' }];
  const file: { path?: unknown; sha?: unknown } = fileOf(value);
  const missing = (['path', 'sha'] as const).filter((name) => typeof file[name] !== 'string');
  return missing.map((name) => ({ message: 'not a string', path: [name] }));
});

function unwrapped(content: unknown): string | undefined {
  return typeof content === 'string' ? content.replaceAll(/\s/g, '') : undefined;
}

function base64(content: string | Uint8Array): string {
  const bytes = typeof content === 'string' ? new TextEncoder().encode(content) : content;
  let binary = '';
  for (const byte of bytes) binary += String.fromCharCode(byte);
  return btoa(binary);
}
