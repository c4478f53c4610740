import { createHash, randomUUID } from "node:crypto";
import {
  link,
  mkdir,
  readFile,
  rename,
  rm,
  stat,
  writeFile,
} from "node:fs/promises";
import { dirname, join } from "node:path";
import { setTimeout as delay } from "node:timers/promises";
import { type LoginStore, parseLogin } from "@devtool/mcp/operator";
import { errorCode } from "../errors.ts";
import { readPrivateFile, writePrivateFile } from "../private-file.ts";

/** The directory of logins in a data directory. */
export const LOGINS = "mcp-logins";

/**
 * Keeps the logins at MCP servers in files of a data directory that only their
 * owner can read, one for each URL.
 */
export function loginStore(dataDirectory: string): LoginStore {
  const pathOf = (url: string): string => {
    const name = createHash("sha256").update(url).digest("hex").slice(0, 32);
    return join(dataDirectory, LOGINS, `${name}.json`);
  };
  return {
    read: async (url) => {
      const text = await readPrivateFile(pathOf(url));
      return text === undefined ? undefined : parseLogin(text);
    },
    write: (url, login) =>
      writePrivateFile(pathOf(url), `${JSON.stringify(login)}\n`),
    remove: (url) => rm(pathOf(url), { force: true }),
    lock: (url) => lockFile(`${pathOf(url)}.lock`),
  };
}

/** The time between two attempts to lock, in milliseconds. */
const RETRY_MS = 50;
/**
 * The age of a lock that a process left behind, in milliseconds: a request to an
 * authorization server takes 30 seconds at most.
 */
const MAX_AGE_MS = 60_000;
/** How long to wait for a lock, in milliseconds: longer than one is left. */
const MAX_WAIT_MS = 90_000;

/**
 * Creates a file that must not exist, with a token, and removes it when disposed
 * of. Throws when another process has it for 90 seconds.
 */
async function lockFile(path: string): Promise<AsyncDisposable> {
  const token = randomUUID();
  const waitsUntilMs = Date.now() + MAX_WAIT_MS;
  await mkdir(dirname(path), { recursive: true, mode: 0o700 });
  do {
    try {
      await writeFile(path, token, { flag: "wx", mode: 0o600 });
      return { [Symbol.asyncDispose]: () => unlock(path, token) };
    } catch (reason) {
      if (errorCode(reason) !== "EEXIST") throw reason;
    }
    const { mtimeMs } = (await stat(path).catch(() => undefined)) ?? {};
    const isLeft = mtimeMs !== undefined && mtimeMs < Date.now() - MAX_AGE_MS;
    if (isLeft) await unlock(path, await tokenOf(path));
    await delay(RETRY_MS);
  } while (Date.now() < waitsUntilMs);
  throw new Error(
    `file ${JSON.stringify(path)} is held by another process: remove it if no devtool logs in`,
  );
}

/**
 * Removes a lock that has a token. One of another process, which took it over
 * meanwhile, stays.
 */
async function unlock(path: string, token: string | undefined): Promise<void> {
  if (token === undefined || (await tokenOf(path)) !== token) return;
  const removed = `${path}.${randomUUID()}`;
  try {
    await rename(path, removed);
    // It may have been taken over since it was read.
    if ((await tokenOf(removed)) !== token) await link(removed, path);
  } catch (reason) {
    const code = errorCode(reason);
    if (code !== "ENOENT" && code !== "EEXIST") throw reason;
  } finally {
    await rm(removed, { force: true });
  }
}

/** Returns what a lock says; undefined for one that is gone. */
function tokenOf(path: string): Promise<string | undefined> {
  return readFile(path, "utf8").catch(() => undefined);
}
