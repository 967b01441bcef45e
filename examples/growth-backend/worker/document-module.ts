import { createHmac } from 'node:crypto';
import type { Pool } from 'pg';
import { callOf } from './call-of.ts';
import { ensureTracked } from './git-resources.ts';
import type { Module } from './module.ts';
import { tell } from './tell.ts';

const WRITING_POINTS = 90;
const PATH = 'plan.md';

/** Writes the plan down in a repository of the user's: each thing is created if it is absent, so a second attempt goes on where the first ended. */
export const documentModule: Module = async (payload, ctx, { hf, pool, clients: { git } }) => {
  const { runId, moduleId } = payload;
  const call = callOf(payload, ctx);
  const owner = payload.userId.replaceAll(/[^A-Za-z0-9_-]/g, '-');
  const repo = runId;
  await ensureTracked(pool, runId, { kind: 'user', name: owner }, () => git.ensureUser(newUser(owner), call));
  await ensureTracked(pool, runId, { kind: 'repo', name: `${owner}/${repo}` }, () =>
    git.ensureRepo({ owner, name: repo }, call),
  );
  const { title, content } = await documentOf(pool, runId);
  const file = await ensureTracked(pool, runId, { kind: 'file', name: `${owner}/${repo}/${PATH}` }, () =>
    git.ensureFile({ owner, repo, path: PATH, content }, call),
  );
  return ctx.commit(async (tx) => {
    await tell({ hf, tx, ctx }, 'document-published', payload, {
      signal: { signalId: 'writing', points: WRITING_POINTS },
      artifact: { serviceId: 'git', externalId: `${owner}/${repo}/${PATH}`, type: moduleId, title },
    });
    return { repo: `${owner}/${repo}`, path: file.path, sha: file.sha };
  });
};

/** Nobody logs in with this password: it is the same at each attempt, and known to none. */
function newUser(username: string): { readonly username: string; readonly email: string; readonly password: string } {
  const password = createHmac('sha256', process.env['GITEA_TOKEN'] || 'local')
    .update(username)
    .digest('base64url');
  return { username, email: `${username}@users.invalid`, password };
}

/** The plan of the run as text; where it has none, the heading alone. */
async function documentOf(pool: Pool, runId: string): Promise<{ readonly title: string; readonly content: string }> {
  const { rows } = await pool.query<{ title: string; steps: string[] }>(
    'select title, steps from growth.plan where run_id = $1',
    [runId],
  );
  const { title, steps } = rows[0] ?? { title: 'Growth plan', steps: [] };
  return { title, content: [`# ${title}`, '', ...steps.map((step) => `- ${step}`), ''].join('\n') };
}
