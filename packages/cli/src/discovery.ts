import { randomUUID } from "node:crypto";
import { constants } from "node:fs";
import { mkdir, open, readFile, rename, rm, stat } from "node:fs/promises";
import { homedir } from "node:os";
import { join } from "node:path";
import { fromJsonString, toJsonString } from "@bufbuild/protobuf";
import { type ServerInfo, ServerInfoSchema } from "@devtool/schema";

const { O_CREAT, O_EXCL, O_NOFOLLOW, O_WRONLY } = constants;

/** The directory that holds tasks and the discovery file, unless `--data` names another: `$DEVTOOL_DATA` or `~/.devtool`. */
export function defaultDataDirectory(env: Readonly<Record<string, string | undefined>>): string {
  return env.DEVTOOL_DATA ?? join(homedir(), ".devtool");
}

/** Where a running server says where it is, and its token. */
export function discoveryPath(dataDirectory: string): string {
  return join(dataDirectory, "server.json");
}

/** Writes the discovery file: mode 0600 from its first moment, under another name, then renamed, so that no reader ever sees half of it. */
export async function writeDiscovery(dataDirectory: string, info: ServerInfo): Promise<void> {
  await mkdir(dataDirectory, { recursive: true, mode: 0o700 });
  const temporary = join(dataDirectory, `.server.${randomUUID()}.tmp`);
  await using file = await open(temporary, O_WRONLY | O_CREAT | O_EXCL | O_NOFOLLOW, 0o600);
  await file.chmod(0o600);
  await file.writeFile(toJsonString(ServerInfoSchema, info));
  await file.sync();
  await rename(temporary, discoveryPath(dataDirectory));
}

/** Reads the discovery file; undefined when there is none, when others can read it, or when its server is gone. */
export async function readDiscovery(dataDirectory: string): Promise<ServerInfo | undefined> {
  try {
    const path = discoveryPath(dataDirectory);
    if (((await stat(path)).mode & 0o077) !== 0) return undefined;
    const info = fromJsonString(ServerInfoSchema, await readFile(path, "utf8"));
    return isAlive(info.pid) ? info : undefined;
  } catch {
    return undefined;
  }
}

/** Removes the discovery file, if it is still that of a process. */
export async function removeDiscovery(dataDirectory: string, pid: number): Promise<void> {
  const info = await readDiscovery(dataDirectory);
  if (info?.pid === pid) await rm(discoveryPath(dataDirectory), { force: true });
}

function isAlive(pid: number): boolean {
  try {
    process.kill(pid, 0);
    return true;
  } catch (reason) {
    return reason instanceof Error && "code" in reason && reason.code === "EPERM";
  }
}
