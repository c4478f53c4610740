import { createHash } from "node:crypto";

/** A tool as its server names it. */
export interface ToolIdentity {
  /** The name of the server in the configuration. */
  readonly server: string;
  /** The name that the server gives the tool. */
  readonly tool: string;
}

/** The maximum size of a name, in bytes, that models accept. */
export const MAX_TOOL_NAME_BYTES = 64;

const PREFIX = "mcp__";
const SEPARATOR = "__";
const HASH_LENGTH = 12;
/** The length of a hash with the `_` before it. */
const SUFFIX_LENGTH: number = HASH_LENGTH + 1;
const MAX_NAMESPACE_LENGTH: number =
  MAX_TOOL_NAME_BYTES - SUFFIX_LENGTH - SEPARATOR.length;

/**
 * Gives each tool its name for models: `mcp__<server>__<tool>` in
 * `[A-Za-z0-9_-]`, at most 64 bytes.
 *
 * Different tools get different names, and the order of the tools does not
 * matter. Where two tools differ only in characters that a name cannot have,
 * both get a hash of their raw names, so that neither can take the name of the
 * other by coming first. A name that is too long gets a hash as well. To find
 * the tool of a name, look it up in the result: names are never split.
 */
export function qualifyToolNames<Identity extends ToolIdentity>(
  identities: readonly Identity[],
): ReadonlyMap<string, Identity> {
  const distinct = new Map(
    identities.map((identity) => [rawKey(identity), identity]),
  );
  const sorted = [...distinct]
    .sort(([one], [other]) => (one < other ? -1 : 1))
    .map(([, identity]) => identity);
  const wanted = wantedNames(sorted);
  const count = countBy(wanted, ({ namespace, tool }) => namespace + tool);
  const named = new Map<string, Identity>();
  const unnamed: WantedName<Identity>[] = [];
  for (const each of wanted) {
    const name = each.namespace + each.tool;
    if (name.length <= MAX_TOOL_NAME_BYTES && count.get(name) === 1) {
      named.set(name, each.identity);
    } else {
      unnamed.push(each);
    }
  }
  // After the others, so that no hash takes a name that a tool has by itself.
  for (const each of unnamed) named.set(freeName(each, named), each.identity);
  return named;
}

/**
 * The two halves of a tool's name, which may be too long, or the same as
 * another tool's.
 */
interface WantedName<Identity> {
  readonly identity: Identity;
  /** `mcp__<server>__` */
  readonly namespace: string;
  readonly tool: string;
}

/**
 * Returns names in allowed characters, with a hash where servers, or tools of
 * one server, would have the same name.
 */
function wantedNames<Identity extends ToolIdentity>(
  identities: readonly Identity[],
): WantedName<Identity>[] {
  const serverNames = [...new Set(identities.map(({ server }) => server))];
  const servers = countBy(serverNames, readable);
  const toolKey = ({ server, tool }: ToolIdentity): string =>
    rawKey({ server, tool: readable(tool) });
  const tools = countBy(identities, toolKey);
  return identities.map((identity) => {
    const { server, tool } = identity;
    const sharesServer = (servers.get(readable(server)) ?? 0) > 1;
    const sharesTool = (tools.get(toolKey(identity)) ?? 0) > 1;
    return {
      identity,
      namespace:
        PREFIX +
        readable(server) +
        (sharesServer ? `_${hash(server)}` : "") +
        SEPARATOR,
      tool: readable(tool) + (sharesTool ? `_${hash(rawKey(identity))}` : ""),
    };
  });
}

/**
 * Returns a name that is short enough and not taken: the two halves cut, and a
 * hash of the raw name.
 */
function freeName<Identity extends ToolIdentity>(
  { identity, namespace, tool }: WantedName<Identity>,
  taken: ReadonlyMap<string, Identity>,
): string {
  const head =
    namespace.slice(0, -SEPARATOR.length).slice(0, MAX_NAMESPACE_LENGTH) +
    SEPARATOR;
  const room = MAX_TOOL_NAME_BYTES - head.length - SUFFIX_LENGTH;
  for (let attempt = 0; ; attempt++) {
    const raw =
      attempt === 0 ? rawKey(identity) : `${rawKey(identity)}\0${attempt}`;
    const name = `${head}${tool.slice(0, room)}_${hash(raw)}`;
    if (!taken.has(name)) return name;
  }
}

/** Replaces the characters that a name cannot have. */
function readable(raw: string): string {
  return raw === "" ? "_" : raw.replaceAll(/[^A-Za-z0-9_-]/gu, "_");
}

/**
 * Returns a key that is different for different identities, whatever characters
 * they contain.
 */
function rawKey({ server, tool }: ToolIdentity): string {
  return JSON.stringify([server, tool]);
}

function hash(raw: string): string {
  return createHash("sha1").update(raw).digest("hex").slice(0, HASH_LENGTH);
}

function countBy<T>(
  values: readonly T[],
  keyOf: (value: T) => string,
): ReadonlyMap<string, number> {
  const count = new Map<string, number>();
  for (const value of values) {
    count.set(keyOf(value), (count.get(keyOf(value)) ?? 0) + 1);
  }
  return count;
}
