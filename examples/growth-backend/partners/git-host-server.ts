import { createHash } from 'node:crypto';
import { found, made, madeBefore, type Partner, type PartnerAnswer, refused, text } from './partner.ts';
import type { PartnerMemory } from './partner-memory.ts';

/** A Git host that speaks the REST API of Gitea: 422 for a user or file that is there, 409 for a repository. */
export const gitHostServer: Partner = {
  scheme: 'token',
  health: /^\/api\/v1\/version$/,
  routes: [
    {
      operation: 'create-user',
      method: 'POST',
      path: /^\/api\/v1\/admin\/users$/,
      honoursKeys: false,
      answer: ({ body, memory }) => {
        const login = text(body, 'username');
        return create(memory, `user ${login}`, { login, email: text(body, 'email') }, 422);
      },
    },
    {
      operation: 'find-user',
      method: 'GET',
      path: /^\/api\/v1\/users\/([^/]+)$/,
      honoursKeys: false,
      answer: ({ names: [login = ''], memory }) => find(memory, `user ${login}`),
    },
    {
      operation: 'create-repo',
      method: 'POST',
      path: /^\/api\/v1\/admin\/users\/([^/]+)\/repos$/,
      honoursKeys: false,
      answer: ({ names: [owner = ''], body, memory }) => {
        if (memory.get(`user ${owner}`) === undefined) return refused(404, 'user does not exist');
        const name = text(body, 'name');
        return create(memory, `repo ${owner}/${name}`, { name, full_name: `${owner}/${name}` }, 409);
      },
    },
    {
      operation: 'find-repo',
      method: 'GET',
      path: /^\/api\/v1\/repos\/([^/]+)\/([^/]+)$/,
      honoursKeys: false,
      answer: ({ names: [owner = '', name = ''], memory }) => find(memory, `repo ${owner}/${name}`),
    },
    {
      operation: 'create-file',
      method: 'POST',
      path: /^\/api\/v1\/repos\/([^/]+)\/([^/]+)\/contents\/(.+)$/,
      honoursKeys: false,
      answer: ({ names: [owner = '', repo = '', path = ''], body, memory }) => {
        if (memory.get(`repo ${owner}/${repo}`) === undefined) return refused(404, 'repo does not exist');
        const content = text(body, 'content');
        const sha = createHash('sha1').update(content).digest('hex');
        const file = { path, sha, content, encoding: 'base64', type: 'file' };
        const answer = create(memory, `file ${owner}/${repo}/${path}`, file, 422);
        if (answer.outcome !== 'did') return answer;
        return made({ content: { path, sha, type: 'file' }, commit: { sha, message: text(body, 'message') } });
      },
    },
    {
      operation: 'find-file',
      method: 'GET',
      path: /^\/api\/v1\/repos\/([^/]+)\/([^/]+)\/contents\/(.+)$/,
      honoursKeys: false,
      answer: ({ names: [owner = '', repo = '', path = ''], memory }) => find(memory, `file ${owner}/${repo}/${path}`),
    },
  ],
};

function create(memory: PartnerMemory, name: string, thing: object, isThere: 409 | 422): PartnerAnswer {
  if (memory.get(name) !== undefined) return madeBefore({ message: `${name} already exists` }, isThere);
  const id = Number(memory.get('last id') ?? 0) + 1;
  memory.set('last id', id);
  memory.set(name, { id, ...thing });
  return made({ id, ...thing });
}

function find(memory: PartnerMemory, name: string): PartnerAnswer {
  const thing = memory.get(name) as object | undefined;
  return thing === undefined ? refused(404, `${name} does not exist`) : found(thing);
}
