import { spawn, spawnSync } from "node:child_process";
import { once } from "node:events";
import { closeSync, mkdtempSync, openSync, rmSync, writeSync } from "node:fs";
import { join } from "node:path";
import { createInterface } from "node:readline";
import { temporaryDirectory } from "@devtool/internal/testing/temporary-directory";
import { MAIN } from "../../our-command.ts";

const MOUNT =
  'mount -t tmpfs -o "size=$1,mode=700" none "$2" && shift 2 && exec "$@"';

/**
 * Returns why this machine cannot give a server a small disk; undefined when it
 * can.
 */
export function smallDiskProblem(): string | undefined {
  const { status } = spawnSync("unshare", [
    "-rm",
    "sh",
    "-c",
    MOUNT,
    "sh",
    "1m",
    "/mnt",
    "true",
  ]);
  return status === 0
    ? undefined
    : "this machine does not allow a mount namespace with a tmpfs";
}

/**
 * A server, as its users start it, whose data directory is a disk of a few
 * megabytes.
 */
export interface SmallDiskServer extends AsyncDisposable {
  readonly url: string;
  readonly token: string;
  /** Writes a file that fills the disk. */
  fill(): void;
  /** Deletes that file. */
  free(): void;
}

/**
 * Starts a server on a new disk. `size` is in the form of the mount option of
 * tmpfs, for instance `4m`.
 */
export async function startOnSmallDisk(size: string): Promise<SmallDiskServer> {
  const directory = temporaryDirectory();
  const data = mkdtempSync(join(directory, "data-"));
  const workspace = mkdtempSync(join(directory, "workspace-"));
  const serve = [
    process.execPath,
    MAIN,
    "serve",
    "--port",
    "0",
    "--json",
    "--data",
    data,
    "--workspace",
    workspace,
  ];
  const child = spawn(
    "unshare",
    ["-rm", "sh", "-c", MOUNT, "sh", size, data, ...serve],
    {
      stdio: ["ignore", "pipe", "ignore"],
    },
  );
  const [line] = await once(createInterface({ input: child.stdout }), "line");
  const filler = join(`/proc/${child.pid}/root`, data, "filler");
  return {
    ...readInfo(String(line)),
    fill: () => fillDisk(filler),
    free: () => rmSync(filler),
    async [Symbol.asyncDispose]() {
      const gone = once(child, "exit");
      child.kill("SIGKILL");
      await gone;
    },
  };
}

function readInfo(line: string): {
  readonly url: string;
  readonly token: string;
} {
  const { url, token } = JSON.parse(line);
  return { url, token };
}

function fillDisk(path: string): void {
  const file = openSync(path, "w");
  try {
    for (const size of [1024 * 1024, 4096, 1]) {
      writeUntilFull(file, Buffer.alloc(size));
    }
  } finally {
    closeSync(file);
  }
}

function writeUntilFull(file: number, bytes: Buffer): void {
  try {
    for (;;) writeSync(file, bytes);
  } catch (reason) {
    if (
      !(reason instanceof Error && "code" in reason && reason.code === "ENOSPC")
    ) {
      throw reason;
    }
  }
}
