import { readdir, rm } from "node:fs/promises";
import { connect } from "node:net";
import { join } from "node:path";
import { assertOwnDirectory } from "./own-directory.ts";
import { FILE_NAMES } from "./places.ts";

/**
 * Removes the files of Gemini CLI that earlier companions of the same editor
 * process left, where nobody listens at their port. Gemini CLI could choose one
 * of them instead of ours.
 */
export async function removeStaleFiles(
  directory: string,
  pid: number,
): Promise<void> {
  // Nothing is removed where we write nothing.
  const names = await assertOwnDirectory(directory)
    .then(() => readdir(directory))
    .catch(() => []);
  for (const name of names) {
    const groups = FILE_NAMES["gemini-cli"].exec(name)?.groups;
    if (Number(groups?.pid) !== pid || groups?.port === undefined) continue;
    if (await isListening(Number(groups.port))) continue;
    // One that cannot be removed stays.
    await rm(join(directory, name), { force: true }).catch(() => undefined);
  }
}

/** Whether a program listens at a port of the loopback interface. */
export function isListening(port: number): Promise<boolean> {
  if (port < 1 || port > 65_535) return Promise.resolve(false);
  const { promise, resolve } = Promise.withResolvers<boolean>();
  const socket = connect({ port, host: "127.0.0.1" });
  socket.setTimeout(1000, () => resolve(true));
  socket.once("connect", () => resolve(true));
  socket.once("error", () => resolve(false));
  return promise.finally(() => socket.destroy());
}
