import { rm } from "node:fs/promises";
import { homedir } from "node:os";
import { join } from "node:path";
import { fromJsonString, toJsonString } from "@bufbuild/protobuf";
import { failpoint } from "@devtool/internal/failpoint";
import { type ServerInfo, ServerInfoSchema } from "@devtool/schema/operator";
import { errorCode } from "../errors.ts";
import { readPrivateFile, writePrivateFile } from "../private-file.ts";

/**
 * Returns the data directory that is used without `--data`: `$DEVTOOL_DATA` or
 * `~/.devtool`.
 */
export function defaultDataDirectory(
  env: Readonly<Record<string, string | undefined>>,
): string {
  return env.DEVTOOL_DATA ?? join(homedir(), ".devtool");
}

/**
 * Returns the path of the discovery file, in which a running server publishes
 * its address and token.
 */
export function discoveryPath(dataDirectory: string): string {
  return join(dataDirectory, "server.json");
}

/** Writes the discovery file, as `writePrivateFile` does. */
export async function writeDiscovery(
  dataDirectory: string,
  info: ServerInfo,
): Promise<void> {
  await writePrivateFile(
    discoveryPath(dataDirectory),
    toJsonString(ServerInfoSchema, info),
  );
}

/**
 * Reads the discovery file; undefined when there is none, or when its server no
 * longer runs.
 *
 * Throws when the file cannot be read, when others can read it, and when it is
 * damaged.
 */
export async function readDiscovery(
  dataDirectory: string,
): Promise<ServerInfo | undefined> {
  return readDiscoveryFile(discoveryPath(dataDirectory));
}

/** Reads a discovery file at a path, as `readDiscovery` does. */
export async function readDiscoveryFile(
  path: string,
): Promise<ServerInfo | undefined> {
  const text = await readPrivateFile(path);
  if (text === undefined) return undefined;
  let info: ServerInfo;
  try {
    info = fromJsonString(ServerInfoSchema, text, {
      ignoreUnknownFields: true,
    });
  } catch (cause) {
    throw new Error(
      `${path} is damaged: remove it, then start the server again`,
      { cause },
    );
  }
  try {
    process.kill(info.pid, 0);
    return info;
  } catch (reason) {
    // `EPERM` means that the server runs as another user.
    return errorCode(reason) === "EPERM" ? info : undefined;
  }
}

/**
 * Removes the discovery file if it is still the one of this process id. A file
 * that cannot be read stays.
 */
export async function removeDiscovery(
  dataDirectory: string,
  pid: number,
): Promise<void> {
  const info = await readDiscovery(dataDirectory).catch(() => undefined);
  if (info?.pid !== pid) return;
  failpoint("devtool:discovery.remove.before");
  await rm(discoveryPath(dataDirectory), { force: true });
  failpoint("devtool:discovery.remove.after");
}
