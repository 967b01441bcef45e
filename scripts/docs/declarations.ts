import { existsSync, readFileSync } from 'node:fs';
import { dirname, join } from 'node:path';
import { parseSync } from 'oxc-parser';

/** Something a module exports. */
export interface Declared {
  readonly name: string;
  readonly kind: 'function' | 'class' | 'value' | 'type';
  /** What is written above it, without the stars. Empty where nothing is. */
  readonly comment: string;
  /** As the compiler declares it; several where it is overloaded. */
  readonly code: string;
}

interface Found extends Omit<Declared, 'name'> {
  readonly at: number;
}

/** What an entry file declares or passes on, by name. It follows re-exports through the other declaration files. */
export function declarationsOf(entry: string): Declared[] {
  const files = new Map<string, DeclarationFile>();
  const open = (path: string): DeclarationFile => {
    const known = files.get(path);
    if (known !== undefined) return known;
    const file = readDeclarations(path);
    files.set(path, file);
    return file;
  };
  const find = (path: string, name: string): readonly Found[] => {
    const { own, passedOn, everything } = open(path);
    const here = own.get(name);
    if (here !== undefined) return here;
    const elsewhere = passedOn.get(name);
    if (elsewhere !== undefined) return find(elsewhere.path, elsewhere.name);
    for (const other of everything) {
      const found = find(other, name);
      if (found.length > 0) return found;
    }
    return [];
  };
  const names = (path: string): string[] => {
    const { exported, everything } = open(path);
    return [...exported, ...everything.flatMap(names)];
  };
  return [...new Set(names(entry))].map((name) => {
    const found = find(entry, name);
    const [first] = found;
    if (first === undefined) throw new Error(`${entry} exports ${name}, which no declaration file has`);
    return { name, kind: first.kind, comment: first.comment, code: found.map(({ code }) => code).join('\n') };
  });
}

interface DeclarationFile {
  readonly own: ReadonlyMap<string, readonly Found[]>;
  /** By the name here: where it comes from, and its name there. */
  readonly passedOn: ReadonlyMap<string, { readonly path: string; readonly name: string }>;
  readonly exported: readonly string[];
  /** Files of which all is passed on. */
  readonly everything: readonly string[];
}

function readDeclarations(path: string): DeclarationFile {
  const source = readFileSync(path, 'utf8');
  const { program, errors } = parseSync(path, source);
  if (errors.length > 0) throw new Error(`${path}: ${errors[0]?.message}`);
  const own = new Map<string, Found[]>();
  const passedOn = new Map<string, { path: string; name: string }>();
  const exported = new Set<string>();
  const everything: string[] = [];
  let end = 0;
  for (const node of program.body) {
    const declaration = node.type === 'ExportNamedDeclaration' ? node.declaration : node;
    const found = declaration === null ? undefined : declared(declaration);
    if (found !== undefined) {
      const { name, kind } = found;
      const one = {
        kind,
        at: node.start,
        comment: commentBefore(source.slice(end, node.start)),
        code: codeOf(source.slice(node.start, node.end)),
      };
      own.set(name, [...(own.get(name) ?? []), one]);
      if (node.type === 'ExportNamedDeclaration') exported.add(name);
    }
    if (node.type === 'ImportDeclaration') {
      for (const specifier of node.specifiers) {
        if (specifier.type !== 'ImportSpecifier' || !node.source.value.startsWith('.')) continue;
        passedOn.set(specifier.local.name, { path: fileOf(path, node.source.value), name: nameOf(specifier.imported) });
      }
    }
    if (node.type === 'ExportNamedDeclaration') {
      for (const { local, exported: given } of node.specifiers) {
        exported.add(nameOf(given));
        if (node.source !== null)
          passedOn.set(nameOf(given), { path: fileOf(path, node.source.value), name: nameOf(local) });
      }
    }
    if (node.type === 'ExportAllDeclaration') everything.push(fileOf(path, node.source.value));
    end = node.end;
  }
  return { own, passedOn, exported: [...exported], everything };
}

type Statement = ReturnType<typeof parseSync>['program']['body'][number];

function declared(node: Statement): { name: string; kind: Declared['kind'] } | undefined {
  switch (node.type) {
    case 'TSDeclareFunction':
    case 'FunctionDeclaration':
      return { name: node.id?.name ?? '', kind: 'function' };
    case 'ClassDeclaration':
      return { name: node.id?.name ?? '', kind: 'class' };
    case 'VariableDeclaration': {
      const id = node.declarations[0]?.id;
      return id?.type === 'Identifier' ? { name: id.name, kind: 'value' } : undefined;
    }
    case 'TSInterfaceDeclaration':
    case 'TSTypeAliasDeclaration':
      return { name: node.id.name, kind: 'type' };
    default:
      return undefined;
  }
}

function nameOf(node: { readonly type: string; readonly name?: string; readonly value?: unknown }): string {
  return node.name ?? String(node.value);
}

function fileOf(from: string, specifier: string): string {
  const file = join(dirname(from), specifier.replace(/\.(ts|js)$/, '.d.ts'));
  if (!existsSync(file)) throw new Error(`${from} names ${specifier}, which is not there`);
  return file;
}

/** The last comment for readers in what stands before a declaration. */
function commentBefore(text: string): string {
  const last = [...text.matchAll(/\/\*\*([^]*?)\*\//g)].at(-1)?.[1] ?? '';
  const lines = last.split('\n').map((line) => line.replace(/^\s*\* ?/, '').trimEnd());
  return lines.join('\n').trim();
}

/** A declaration on one line that is longer than a page is wide has a line for each parameter. */
function wrapped(code: string): string {
  const [line = '', ...rest] = code.split('\n');
  const open = line.search(/(?<=^function \w+(?:<.*>)?)\((?!\))/);
  if (rest.length > 0 || line.length <= 110 || open === -1) return code;
  const parameters: string[] = [''];
  let depth = 0;
  for (let i = open + 1; i < line.length; i += 1) {
    const letter = line[i] ?? '';
    if (depth === 0 && letter === ')') {
      return `${line.slice(0, open)}(\n${parameters.map((one) => `  ${one.trim()},\n`).join('')}${line.slice(i)}`;
    }
    if ('([{<'.includes(letter)) depth += 1;
    else if (')]}'.includes(letter) || (letter === '>' && line[i - 1] !== '=')) depth -= 1;
    if (depth === 0 && letter === ',') parameters.push('');
    else parameters[parameters.length - 1] += letter;
  }
  return code;
}

function codeOf(text: string): string {
  const code = text
    .replace(/^export (default )?(declare )?|^declare /, '')
    .replaceAll(/^ {4}#private;\n/gm, '')
    .replaceAll(/^( {4})+/gm, (indent) => ' '.repeat(indent.length / 2));
  return wrapped(code);
}
