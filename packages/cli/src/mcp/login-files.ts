import { createHash } from "node:crypto";
import { rm } from "node:fs/promises";
import { join } from "node:path";
import { type LoginStore, parseLogin } from "@devtool/mcp/operator";
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
  };
}
