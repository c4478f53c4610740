import { execFile } from "node:child_process";
import { promisify } from "node:util";

/** The first file descriptor that is passed: SD_LISTEN_FDS_START. */
const FIRST_FD = 3;

/** What a service manager such as systemd passes to this process. */
export interface ServiceManager {
  /** The value of `LISTEN_FDS`; undefined when it is another process's. */
  readonly socketCount: string | undefined;
  /** The value of `NOTIFY_SOCKET`. */
  readonly notifySocket: string | undefined;
}

/**
 * Takes what a service manager passes out of the environment of this process,
 * as `unset_environment` of `sd_listen_fds(3)` and `sd_notify(3)` does: what
 * this process starts must not speak for it. Node closes the socket itself in
 * each program that it starts.
 */
export function takeServiceManager(
  environment: NodeJS.ProcessEnv,
  pid: number,
): ServiceManager {
  const { LISTEN_FDS, LISTEN_PID, NOTIFY_SOCKET } = environment;
  for (const name of NAMES) delete environment[name];
  const socketCount = LISTEN_PID === String(pid) ? LISTEN_FDS : undefined;
  return { socketCount, notifySocket: NOTIFY_SOCKET };
}

const NAMES = [
  "LISTEN_FDS",
  "LISTEN_PID",
  "LISTEN_FDNAMES",
  "NOTIFY_SOCKET",
] as const;

/**
 * Returns the file descriptor of the socket that a service manager passes
 * (`sd_listen_fds(3)`). Undefined: it passes none. Throws when it passes
 * several.
 */
export function passedSocket({
  socketCount,
}: ServiceManager): number | undefined {
  if (socketCount === undefined) return undefined;
  if (socketCount === "1") return FIRST_FD;
  throw new Error(
    `LISTEN_FDS is "${socketCount}": pass one socket, with one ListenStream= in the socket unit`,
  );
}

/**
 * Tells the service manager that the server is ready (`sd_notify(3)`), where
 * there is one, and that it need not listen to other processes any more. Node
 * has no datagram sockets of the file system, so the program of systemd sends
 * it. Throws when that fails.
 */
export async function notifyReady({
  notifySocket,
}: ServiceManager): Promise<void> {
  if (notifySocket === undefined) return;
  const env = { ...process.env, NOTIFY_SOCKET: notifySocket };
  const said = ["--ready", "NOTIFYACCESS=main"];
  try {
    await promisify(execFile)("systemd-notify", said, { env });
  } catch (reason) {
    throw new Error(
      "the service manager could not be told that the server is ready: systemd-notify failed",
      { cause: reason },
    );
  }
}
