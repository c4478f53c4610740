import {
  closeSync,
  constants,
  fstatSync,
  lstatSync,
  openSync,
  readFileSync,
} from "node:fs";
import { lstat, mkdir, readlink, rm, symlink } from "node:fs/promises";
import { dirname } from "node:path";
import { create, fromJsonString, toJsonString } from "@bufbuild/protobuf";
import { failpoint } from "@devtool/internal/failpoint";
import {
  grants,
  isOfAnother,
  OTHERS_WRITE,
} from "@devtool/internal/file-access";
import { isOtherProcess } from "@devtool/internal/other-process";
import { replaceFile } from "@devtool/internal/replace-file";
import { type TrustFile, TrustFileSchema } from "@devtool/schema";
import { Code, DevtoolError, type ErrorOptions } from "@devtool/server/agent";
import { systemErrorCode } from "../client-error.ts";

const { O_NOFOLLOW, O_RDONLY } = constants;

/**
 * Reads the grants from `trust.json`. Returns no grants when the file does not
 * exist.
 *
 * The file is read synchronously: every message needs it, and it is small.
 *
 * Throws a `DevtoolError` for an invalid file, and for one that another user
 * may write.
 */
export async function readTrustFile(path: string): Promise<TrustFile> {
  try {
    // Usually the file does not exist. `lstat` says so without the cost of an
    // error and its stack.
    if (!lstatSync(path, { throwIfNoEntry: false })) {
      return create(TrustFileSchema);
    }
    const descriptor = openSync(path, O_RDONLY | O_NOFOLLOW);
    try {
      const stats = fstatSync(descriptor);
      if (grants(stats, OTHERS_WRITE) || isOfAnother(stats)) {
        throw unusable(path, "others may write it", {
          remedy: "chmod 600, chown",
        });
      }
      return fromJsonString(TrustFileSchema, readFileSync(descriptor, "utf8"));
    } finally {
      closeSync(descriptor);
    }
  } catch (reason) {
    if (systemErrorCode(reason) === "ENOENT") return create(TrustFileSchema);
    if (reason instanceof DevtoolError) throw reason;
    throw unusable(path, "it cannot be read", {
      remedy: "mend or remove it",
      cause: reason,
    });
  }
}

/**
 * Changes the grants in `trust.json`, durably and with mode 0600.
 *
 * A lock serializes changes by different processes, so that no change is lost.
 * Throws `Code.Unavailable` while another process holds the lock.
 */
export async function changeTrustFile(
  path: string,
  change: (before: TrustFile) => TrustFile,
  now: () => Date,
): Promise<void> {
  failpoint("devtool:trust.lock.before");
  await mkdir(dirname(path), { recursive: true, mode: 0o700 });
  await using _lock = await lockFile(path, now);
  failpoint("devtool:trust.write.before");
  const after = change(await readTrustFile(path));
  await replaceFile(
    path,
    `${toJsonString(TrustFileSchema, after, { prettySpaces: 2 })}\n`,
  );
  failpoint("devtool:trust.write.after");
}

/**
 * A change takes milliseconds, so a crashed process left any older lock, even
 * if its process id is in use again.
 */
const MAX_LOCK_AGE_MS = 10_000;

/**
 * Locks a file by a symbolic link beside it that names this process. Replaces a
 * lock that a crashed process left.
 */
async function lockFile(
  path: string,
  now: () => Date,
): Promise<AsyncDisposable> {
  const lock = `${path}.lock`;
  const held = await lstat(lock).catch(() => undefined);
  if (held) {
    const pid = Number(await readlink(lock).catch(() => 0));
    const isAbandoned = pid !== process.pid && !isOtherProcess(pid);
    if (isAbandoned || now().getTime() - held.mtimeMs > MAX_LOCK_AGE_MS) {
      await rm(lock, { force: true });
    }
  }
  try {
    await symlink(String(process.pid), lock);
  } catch (reason) {
    const code = systemErrorCode(reason);
    const problem =
      code === "EEXIST"
        ? "another process is changing it"
        : `${JSON.stringify(lock)} cannot be made: ${code}`;
    throw new DevtoolError(
      `trust file ${JSON.stringify(path)}: ${problem}`,
      Code.Unavailable,
      {
        remedy: code === "EEXIST" ? "try again" : "",
        cause: reason,
      },
    );
  }
  return { [Symbol.asyncDispose]: () => rm(lock, { force: true }) };
}

function unusable(
  path: string,
  problem: string,
  options: ErrorOptions,
): DevtoolError {
  return new DevtoolError(
    `trust file ${JSON.stringify(path)}: ${problem}`,
    Code.FailedPrecondition,
    options,
  );
}
