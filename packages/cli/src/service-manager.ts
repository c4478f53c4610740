import { execFile } from "node:child_process";
import { promisify } from "node:util";
import type { Io } from "./io.ts";

/** The first file descriptor that is passed: SD_LISTEN_FDS_START. */
const FIRST_FD = 3;

/**
 * Returns the file descriptor of the socket that a service manager such as
 * systemd passes to this process (`sd_listen_fds(3)`). Undefined: it passes
 * none. Throws when it passes several.
 */
export function passedSocket(
  { env }: Pick<Io, "env">,
  pid: number,
): number | undefined {
  const { LISTEN_FDS: count, LISTEN_PID: owner } = env;
  if (count === undefined || owner !== String(pid)) return undefined;
  if (count === "1") return FIRST_FD;
  throw new Error(
    `LISTEN_FDS is "${count}": pass one socket, with one ListenStream= in the socket unit`,
  );
}

/**
 * Tells the service manager that the server is ready (`sd_notify(3)`), where
 * there is one. Node has no datagram sockets of the file system, so the program
 * of systemd sends it. Throws when that fails.
 */
export async function notifyReady({ env }: Pick<Io, "env">): Promise<void> {
  if (env.NOTIFY_SOCKET === undefined) return;
  try {
    await promisify(execFile)("systemd-notify", ["--ready"], { env });
  } catch (reason) {
    throw new Error(
      "the service manager could not be told that the server is ready: systemd-notify failed",
      { cause: reason },
    );
  }
}
