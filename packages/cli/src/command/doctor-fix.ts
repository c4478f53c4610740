import { randomUUID } from "node:crypto";
import { constants } from "node:fs";
import {
  link,
  lstat,
  mkdir,
  open,
  readdir,
  rename,
  rm,
} from "node:fs/promises";
import { basename, join } from "node:path";
import {
  grants,
  isOfAnother,
  OTHERS,
  OTHERS_WRITE,
} from "@devtool/internal/file-access";
import { discoveryPath, readDiscoveryFile } from "../connection/discovery.ts";
import { errorMessage } from "../errors.ts";
import { LOGINS } from "../mcp/login-files.ts";
import { MODEL_KEYS } from "../model-keys.ts";
import { visibleName } from "../render/style.ts";

/** Something that can be mended without touching the content of a file. */
export interface Fix {
  /** What it does: `chmod 600 PATH`. */
  readonly says: string;
  /** What its user should do besides; empty for nothing. */
  readonly advice: string;
  /** Throws when it cannot be done. */
  apply(): Promise<void>;
}

const ROTATE = "others could read the token: devtool serve --rotate-token";

/** What to do about secrets that others could read, by the name of the file. */
const ADVICE: Readonly<Record<string, string>> = {
  "server.json": ROTATE,
  "token.json": ROTATE,
  "signing-keys.json": "others could read the keys: devtool keys rotate",
  [MODEL_KEYS]: "others could read the keys: make others, and devtool login",
};

/** The files that tell a server what to do, which nobody else may change. */
const CONFIG_FILES = ["config.toml", "policy.toml"];

/**
 * Lists what can be mended in a data directory: modes of its files, the
 * directory if it is missing, and the discovery file of a server that is gone.
 * What belongs to another user, and what is a link, stays as it is.
 */
export async function findFixes(data: string): Promise<Fix[]> {
  const directory = await lstat(data).catch(() => undefined);
  if (!directory) return [makeDirectory(data)];
  if (!directory.isDirectory() || isOfAnother(directory)) return [];
  const fixes: Fix[] = [];
  if (grants(directory, OTHERS)) {
    fixes.push(changeMode(data, OTHERS, "700", ""));
  }
  for (const path of await privateFiles(data)) {
    if (await hasBits(path, OTHERS)) {
      const advice = ADVICE[basename(path)] ?? "";
      fixes.push(changeMode(path, OTHERS, "600", advice));
    }
  }
  for (const name of CONFIG_FILES) {
    const path = join(data, name);
    if (await hasBits(path, OTHERS_WRITE)) {
      const advice = "others could change it: look at what it says";
      fixes.push(changeMode(path, OTHERS_WRITE, "go-w", advice));
    }
  }
  if (await isStale(discoveryPath(data))) fixes.push(removeStale(data));
  return fixes;
}

/**
 * Lists what nobody else may read: the files of the data directory but for its
 * configuration, and the logins at MCP servers.
 */
async function privateFiles(data: string): Promise<string[]> {
  const logins = join(data, LOGINS);
  const directory = await lstat(logins).catch(() => undefined);
  const paths = await filesIn(data);
  if (directory?.isDirectory()) paths.push(...(await filesIn(logins)));
  return paths.filter((path) => !CONFIG_FILES.includes(basename(path)));
}

async function filesIn(directory: string): Promise<string[]> {
  const entries = await readdir(directory, { withFileTypes: true }).catch(
    () => [],
  );
  return entries
    .filter((entry) => entry.isFile())
    .map(({ name }) => join(directory, name))
    .sort();
}

/**
 * Makes each fix, and returns a line about it. One that fails costs only
 * itself.
 */
export async function applyFixes(fixes: readonly Fix[]): Promise<string[]> {
  const lines: string[] = [];
  for (const { says, advice, apply } of fixes) {
    const outcome = await apply().then(
      () => "mended",
      (reason: unknown) => `not mended (${errorMessage(reason)})`,
    );
    lines.push(`${outcome}: ${says}${advice && `; ${advice}`}`);
  }
  return lines;
}

/** Whether the discovery file is that of a server that no longer runs. */
async function isStale(path: string): Promise<boolean> {
  const stats = await lstat(path).catch(() => undefined);
  if (!stats?.isFile()) return false;
  // A damaged file, or one that others can read, may be a running server's.
  return readDiscoveryFile(path).then(
    (info) => info === undefined,
    () => false,
  );
}

function removeStale(data: string): Fix {
  const path = discoveryPath(data);
  return {
    says: `rm ${visibleName(path)}, of a server that is gone`,
    advice: "",
    async apply() {
      // A server may start at any moment: what is read is what is removed.
      const aside = `${path}.${randomUUID()}`;
      await rename(path, aside);
      try {
        if (await isStale(aside)) return;
        // It stays where a server has written its own meanwhile.
        await link(aside, path).catch(() => undefined);
        throw new Error("a server has started");
      } finally {
        await rm(aside);
      }
    },
  };
}

function makeDirectory(path: string): Fix {
  return {
    says: `mkdir -m 700 ${visibleName(path)}`,
    advice: "",
    apply: async () =>
      void (await mkdir(path, { recursive: true, mode: 0o700 })),
  };
}

/**
 * Takes permission bits from a file or directory. It is opened first, so that a
 * link that takes its place is not followed.
 */
function changeMode(
  path: string,
  bits: number,
  mode: string,
  advice: string,
): Fix {
  return {
    says: `chmod ${mode} ${visibleName(path)}`,
    advice,
    async apply() {
      await using file = await open(
        path,
        constants.O_RDONLY | constants.O_NOFOLLOW | constants.O_NONBLOCK,
      );
      const stats = await file.stat();
      if (isOfAnother(stats)) throw new Error("it belongs to another user");
      await file.chmod(stats.mode & 0o7777 & ~bits);
    },
  };
}

async function hasBits(path: string, bits: number): Promise<boolean> {
  const stats = await lstat(path).catch(() => undefined);
  if (!stats?.isFile() || isOfAnother(stats)) return false;
  return grants(stats, bits);
}
