import { createHash } from "node:crypto";
import { open, rm, stat } from "node:fs/promises";
import { join } from "node:path";
import { setTimeout as delay } from "node:timers/promises";
import { type LoginStore, parseLogin } from "@devtool/mcp/operator";
import { errorCode } from "../errors.ts";
import { readPrivateFile, writePrivateFile } from "../private-file.ts";

/**
 * Keeps the logins at MCP servers in files of a data directory that only their
 * owner can read, one for each URL.
 */
export function loginStore(dataDirectory: string): LoginStore {
  const pathOf = (url: string): string => {
    const name = createHash("sha256").update(url).digest("hex").slice(0, 32);
    return join(dataDirectory, "mcp-logins", `${name}.json`);
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

/** Creates a file that must not exist, and removes it when disposed of. */
async function lockFile(path: string): Promise<AsyncDisposable> {
  for (;;) {
    try {
      await (await open(path, "wx", 0o600)).close();
      return { [Symbol.asyncDispose]: () => rm(path, { force: true }) };
    } catch (reason) {
      if (errorCode(reason) !== "EEXIST") throw reason;
    }
    const { mtimeMs } = (await stat(path).catch(() => undefined)) ?? {};
    const isLeft = mtimeMs !== undefined && mtimeMs < Date.now() - MAX_AGE_MS;
    if (isLeft) await rm(path, { force: true });
    await delay(RETRY_MS);
  }
}
