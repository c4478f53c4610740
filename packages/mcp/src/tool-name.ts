import { createHash } from "node:crypto";

/** A tool as its server names it. */
export interface ToolIdentity {
  /** The server, as configured. */
  readonly server: string;
  /** The tool, as the server calls it. */
  readonly tool: string;
}

/** The maximum size of a name, in bytes: what models take. */
export const MAX_TOOL_NAME_BYTES = 64;

const PREFIX = "mcp__";
const SEPARATOR = "__";
const HASH_LENGTH = 12;
/** What a hash takes with the `_` before it. */
const SUFFIX_LENGTH: number = HASH_LENGTH + 1;
const MAX_NAMESPACE_LENGTH: number = MAX_TOOL_NAME_BYTES - SUFFIX_LENGTH - SEPARATOR.length;

/**
 * Gives each tool the name that models know it by: `mcp__<server>__<tool>` in `[A-Za-z0-9_-]`, at most 64 bytes.
 *
 * Different tools get different names, whatever their order. What differs only in characters that a name cannot have
 * gets a hash of the raw name, all of it and not only the later one, so that nobody takes another's name by coming
 * first; so do names that are too long. The way back is a look into this list: names are never split.
 */
export function qualifyToolNames<Identity extends ToolIdentity>(
  identities: readonly Identity[],
): ReadonlyMap<string, Identity> {
  const distinct = new Map(identities.map((identity) => [rawKey(identity), identity]));
  const sorted = [...distinct].sort(([one], [other]) => (one < other ? -1 : 1)).map(([, identity]) => identity);
  const readers = countReaders(sorted);
  const wanted = sorted.map((identity) => ({ identity, ...readableParts(identity, readers) }));
  const count = countBy(wanted, ({ namespace, tool }) => join(namespace, tool));
  const fits = ({ namespace, tool }: Wanted<Identity>): boolean =>
    join(namespace, tool).length <= MAX_TOOL_NAME_BYTES && count.get(join(namespace, tool)) === 1;

  const named = new Map(wanted.filter(fits).map((each) => [join(each.namespace, each.tool), each.identity]));
  for (const each of wanted.filter((one) => !fits(one))) named.set(freeName(each, named), each.identity);
  return named;
}

interface Wanted<Identity> {
  readonly identity: Identity;
  readonly namespace: string;
  readonly tool: string;
}

/** How many servers, and tools of one server, read the same. */
interface Readers {
  readonly servers: ReadonlyMap<string, number>;
  readonly tools: ReadonlyMap<string, number>;
}

function countReaders(all: readonly ToolIdentity[]): Readers {
  const servers = [...new Set(all.map(({ server }) => server))];
  return { servers: countBy(servers, readable), tools: countBy(all, readKey) };
}

/** The two halves of a name: readable, and with a hash where two raw names read the same. */
function readableParts(
  { server, tool }: ToolIdentity,
  { servers, tools }: Readers,
): { readonly namespace: string; readonly tool: string } {
  const sharesServer = (servers.get(readable(server)) ?? 0) > 1;
  const sharesTool = (tools.get(readKey({ server, tool })) ?? 0) > 1;
  return {
    namespace: PREFIX + readable(server) + (sharesServer ? `_${hash(server)}` : ""),
    tool: readable(tool) + (sharesTool ? `_${hash(rawKey({ server, tool }))}` : ""),
  };
}

/** A name that is short enough and not taken: the halves cut, and a hash of the raw name. */
function freeName<Identity extends ToolIdentity>(
  { identity, namespace, tool }: Wanted<Identity>,
  taken: ReadonlyMap<string, Identity>,
): string {
  const head = namespace.slice(0, MAX_NAMESPACE_LENGTH);
  const room = MAX_TOOL_NAME_BYTES - head.length - SEPARATOR.length - SUFFIX_LENGTH;
  for (let attempt = 0; ; attempt++) {
    const raw = attempt === 0 ? rawKey(identity) : `${rawKey(identity)}\0${attempt}`;
    const name = join(head, `${tool.slice(0, room)}_${hash(raw)}`);
    if (!taken.has(name)) return name;
  }
}

function join(namespace: string, tool: string): string {
  return namespace + SEPARATOR + tool;
}

function readable(raw: string): string {
  return raw === "" ? "_" : raw.replaceAll(/[^A-Za-z0-9_-]/gu, "_");
}

/** Tells identities apart whatever their characters are. */
function rawKey({ server, tool }: ToolIdentity): string {
  return JSON.stringify([server, tool]);
}

/** The same for tools of one server that read alike. */
function readKey({ server, tool }: ToolIdentity): string {
  return rawKey({ server, tool: readable(tool) });
}

function hash(raw: string): string {
  return createHash("sha1").update(raw).digest("hex").slice(0, HASH_LENGTH);
}

function countBy<T>(values: readonly T[], keyOf: (value: T) => string): ReadonlyMap<string, number> {
  const count = new Map<string, number>();
  for (const value of values) count.set(keyOf(value), (count.get(keyOf(value)) ?? 0) + 1);
  return count;
}
