import { open } from "node:fs/promises";
import { fromJson } from "@bufbuild/protobuf";
import {
  isObject,
  objectOrEmpty,
  plainJson,
  stringOrEmpty,
} from "@devtool/internal/json";
import {
  type AcpRegistryAgent,
  AcpRegistryAgentSchema,
} from "@devtool/schema/operator";
import { guardedFetch, parseTarget } from "@devtool/server/agent";
import { errorMessage, UsageError } from "../errors.ts";

/** The maximum size of a registry in bytes. */
const MAX_BYTES = 4 * 1024 * 1024;
const TIMEOUT_MS = 30_000;

/** The agents of an ACP registry, and those that cannot be read. */
export interface AcpRegistry {
  readonly agents: readonly AcpRegistryAgent[];
  /** Why others are left out. */
  readonly leftOut: readonly string[];
}

/**
 * Reads the `registry.json` of an ACP registry: a file, or an https URL, of which
 * nothing is kept. An agent that cannot be read costs only itself.
 *
 * Throws for a registry that cannot be read.
 */
export async function readAcpRegistry(
  place: string,
  signal: AbortSignal,
): Promise<AcpRegistry> {
  try {
    const text = /^https?:/i.test(place)
      ? await fetchText(place, signal)
      : await fileText(place);
    const json: unknown = JSON.parse(text);
    if (!isObject(json) || !Array.isArray(json.agents)) {
      throw new Error('it has no list "agents"');
    }
    return agentsOf(json.agents);
  } catch (reason) {
    throw new UsageError(
      `registry ${JSON.stringify(place)} cannot be used: ${errorMessage(reason)}`,
    );
  }
}

async function fetchText(url: string, signal: AbortSignal): Promise<string> {
  const { hostname, protocol } = parseTarget(url);
  const isLoopback = /^(localhost|127\.0\.0\.1|\[::1\])$/.test(hostname);
  if (protocol !== "https:" && !isLoopback) {
    throw new Error("anybody on the way can change it: use https");
  }
  const { status, body, isTruncated } = await guardedFetch(
    {
      ...{ url, method: "GET", headers: { accept: "application/json" } },
      // The user named this place, and none that it redirects to.
      ...{ maxRedirects: 0, maxBytes: MAX_BYTES, timeoutMs: TIMEOUT_MS },
    },
    {
      allowedHosts: [`${hostname}:*`],
      allowing: (target) => `--registry with ${target}`,
      ownPorts: () => [],
    },
    signal,
  );
  if (status !== 200) {
    const remedy =
      status >= 300 && status < 400
        ? ": name the address that it redirects to"
        : "";
    throw new Error(`the answer has status ${status}${remedy}`);
  }
  if (isTruncated) throw tooLarge();
  return body.toString("utf8");
}

async function fileText(path: string): Promise<string> {
  await using file = await open(path);
  const { buffer, bytesRead } = await file.read({
    buffer: Buffer.alloc(MAX_BYTES + 1),
  });
  if (bytesRead > MAX_BYTES) throw tooLarge();
  return buffer.toString("utf8", 0, bytesRead);
}

function tooLarge(): Error {
  return new Error(`it is larger than ${MAX_BYTES} bytes`);
}

function agentsOf(listed: readonly unknown[]): AcpRegistry {
  const agents = new Map<string, AcpRegistryAgent>();
  const leftOut: string[] = [];
  for (const [index, json] of listed.entries()) {
    const fields = objectOrEmpty(json);
    const { id: named } = fields;
    const shown = JSON.stringify(stringOrEmpty(named) || `agents[${index}]`);
    try {
      const agent = fromJson(AcpRegistryAgentSchema, plainJson(fields), {
        ignoreUnknownFields: true,
      });
      const { id } = agent;
      if (!/^[a-z][a-z0-9-]{0,49}$/.test(id)) {
        throw new Error(
          "its id is not up to 50 lower-case letters, digits and -",
        );
      }
      if (agents.has(id)) throw new Error("another agent has its id");
      agents.set(id, agent);
    } catch (reason) {
      leftOut.push(`${shown} is left out: ${errorMessage(reason)}`);
    }
  }
  return { agents: [...agents.values()], leftOut };
}

/** How an agent of a registry is started, of a version that is fixed. */
export interface AcpCommand {
  /** The words of the command, without the directory where it starts. */
  readonly words: readonly string[];
  /** The package, with its version. */
  readonly packageName: string;
  /** What gets the package, and runs it. */
  readonly runner: "npx" | "uvx";
  /** Where the package comes from. */
  readonly source: "npm" | "PyPI";
}

/** A number without zeros in front. */
const N = String.raw`(0|[1-9]\d*)`;
/** A word of a pre-release. */
const WORD = String.raw`(${N}|\d*[a-z-][\da-z-]*)`;
/**
 * Packages of an exact version, as SemVer 2.0.0 and the canonical form of PEP 440
 * have it: a range or a tag is whatever is published next, and uvx takes what is
 * no version for a directory.
 */
const NPM = new RegExp(
  String.raw`^(@[a-z0-9][\w.-]*/)?[a-z0-9][\w.-]*@${N}\.${N}\.${N}(-${WORD}(\.${WORD})*)?(\+[\da-z-]+(\.[\da-z-]+)*)?$`,
  "i",
);
const PYPI = new RegExp(
  String.raw`^[a-z0-9][\w.-]*(\[[\w,-]+\])?(@|==)(${N}!)?${N}(\.${N})*((a|b|rc)${N})?(\.post${N})?(\.dev${N})?(\+[\da-z]+(\.[\da-z]+)*)?$`,
  "i",
);

/**
 * Variables by which shells, loaders, languages and what gets packages choose
 * what runs, where it comes from, or whom they trust.
 */
const FORBIDDEN_VARIABLE =
  /^(PATH|HOME|PWD|TMPDIR|ENV|BASH.*|SHELL.*|IFS|EDITOR|VISUAL|PAGER|BROWSER|NODE_(?!ENV$).*|(LD|DYLD|GCONV|MALLOC|XDG|GIT|SSH|SSL|CURL|OPENSSL|UV|PIP|NPM|PNPM|YARN|COREPACK|BUN|DENO|CONDA|GEM|BUNDLE|DOTNET|CORECLR|JDK|_?JAVA)_.*|(PYTHON|PERL|RUBY|VIRTUAL_ENV).*|(.*_)?PROXY|.*_(CA_BUNDLE|CERT_FILE|CERT_DIR))$/i;

/**
 * Returns how an agent is started. Throws for one that has no package of a fixed
 * version: the error says what to do.
 */
export function acpCommand({ id, distribution }: AcpRegistryAgent): AcpCommand {
  const { npx, uvx, binary = {} } = distribution ?? {};
  const found = npx ?? uvx;
  if (!found) {
    const why =
      Object.keys(binary).length > 0
        ? "is there as an archive only, and the registry has no hash of it: install it yourself"
        : "has no package of npx or uvx: install it yourself";
    throw new UsageError(
      `agent "${id}" ${why}, and serve it with --agent "${id}=acp:COMMAND"`,
    );
  }
  const { package: packageName, args, env } = found;
  if (!(npx ? NPM : PYPI).test(packageName)) {
    throw new UsageError(
      `agent "${id}" has the package ${JSON.stringify(packageName)}, which names no exact version, so nobody knows what would run: install it yourself, and serve it with --agent "${id}=acp:COMMAND"`,
    );
  }
  const variables = Object.entries(env).map(([name, value]) => {
    if (/^[A-Z_]\w*$/i.test(name) && !FORBIDDEN_VARIABLE.test(name)) {
      return `${name}=${value}`;
    }
    throw new UsageError(
      `agent "${id}" sets the variable ${JSON.stringify(name)}, which could make another program run`,
    );
  });
  const words = [
    ...(variables.length > 0 ? ["env", ...variables] : []),
    ...(npx ? ["npx", "-y", packageName] : ["uvx", packageName]),
    ...args,
  ];
  const hidden = words.find((word) => /[\p{C}\p{Zl}\p{Zp}]/u.test(word));
  if (hidden !== undefined) {
    throw new UsageError(
      `agent "${id}" has a word with characters that cannot be seen: ${JSON.stringify(hidden)}`,
    );
  }
  const [runner, source] = npx
    ? (["npx", "npm"] as const)
    : (["uvx", "PyPI"] as const);
  return { words, packageName, runner, source };
}

/**
 * Returns the words of a command that starts in a directory. An agent starts in
 * its workspace, whose packages and settings `npx` prefers, whatever its flags,
 * and whose `node_modules/.bin` it puts into PATH; it is told its workspace.
 */
export function startedIn(
  directory: string,
  words: readonly string[],
): readonly string[] {
  return ["sh", "-c", 'cd "$0" && exec "$@"', directory, ...words];
}

/** Writes words as one line that is split into them again. */
export function commandLine(words: readonly string[]): string {
  return words
    .map((word) =>
      /^[\w@%+=:,./-]+$/.test(word)
        ? word
        : `'${word.replaceAll("'", `'\\''`)}'`,
    )
    .join(" ");
}
