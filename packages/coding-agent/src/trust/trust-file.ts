import { closeSync, constants, fstatSync, lstatSync, openSync, readFileSync } from "node:fs";
import { lstat, mkdir, open, readlink, rename, rm, symlink } from "node:fs/promises";
import { dirname } from "node:path";
import { create, fromJsonString, toJsonString } from "@bufbuild/protobuf";
import { type TrustFile, TrustFileSchema } from "@devtool/schema";
import { Code, DevtoolError, type ErrorOptions, failpoint, isOtherProcess } from "@devtool/server/agent";

const { O_CREAT, O_EXCL, O_NOFOLLOW, O_RDONLY, O_WRONLY } = constants;

/** Reads the grants; none when there is no file. Throws for a file that is broken or that others may write. */
export async function readTrustFile(path: string): Promise<TrustFile> {
  try {
    // Most often there is none, and it is looked for with every message: an open that fails makes an error with its stack.
    if (!lstatSync(path, { throwIfNoEntry: false })) return create(TrustFileSchema);
    return readOpened(path, openSync(path, O_RDONLY | O_NOFOLLOW));
  } catch (reason) {
    if (codeOf(reason) === "ENOENT") return create(TrustFileSchema);
    if (reason instanceof DevtoolError) throw reason;
    throw unusable(path, "it cannot be read", { remedy: "mend or remove it", cause: reason });
  }
}

/** At once and not in the background: it is read with every message, and a small file takes less than the detour. */
function readOpened(path: string, descriptor: number): TrustFile {
  try {
    const { mode, uid } = fstatSync(descriptor);
    if ((mode & 0o022) !== 0 || uid !== process.getuid?.())
      throw unusable(path, "others may write it", { remedy: "chmod 600, chown" });
    return fromJsonString(TrustFileSchema, readFileSync(descriptor, "utf8"));
  } finally {
    closeSync(descriptor);
  }
}

/**
 * Changes the grants: the new file is written beside the old one (mode 0600), synced and renamed over it. One process at a
 * time does so, and no change of another is lost. Throws `Code.Unavailable` while another process does.
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
  await replaceFile(path, `${toJsonString(TrustFileSchema, after, { prettySpaces: 2 })}\n`);
  failpoint("devtool:trust.rename.after");
}

async function replaceFile(path: string, text: string): Promise<void> {
  const beside = `${path}.new`;
  await rm(beside, { force: true });
  try {
    await using file = await open(beside, O_WRONLY | O_CREAT | O_EXCL | O_NOFOLLOW, 0o600);
    await file.chmod(0o600);
    await file.writeFile(text);
    await file.sync();
    failpoint("devtool:trust.rename.before");
    await rename(beside, path);
  } catch (reason) {
    await rm(beside, { force: true });
    throw reason;
  }
  await using directory = await open(dirname(path), O_RDONLY);
  await directory.sync();
}

/** A change takes milliseconds: a lock that is older is what a crash left, whoever has its process id now. */
const MAX_LOCK_AGE_MS = 10_000;

/** Makes a link beside a file that names this process, which says that it changes the file; one that a crash left is replaced. */
async function lockFile(path: string, now: () => Date): Promise<AsyncDisposable> {
  const lock = `${path}.lock`;
  if (await isLeftOver(lock, now)) await rm(lock, { force: true });
  try {
    await symlink(String(process.pid), lock);
  } catch (reason) {
    const isTaken = codeOf(reason) === "EEXIST";
    const why = isTaken
      ? "another process is changing it"
      : `${JSON.stringify(lock)} cannot be made: ${codeOf(reason)}`;
    const problem = `trust file ${JSON.stringify(path)}: ${why}`;
    throw new DevtoolError(problem, Code.Unavailable, { remedy: isTaken ? "try again" : "", cause: reason });
  }
  return { [Symbol.asyncDispose]: () => rm(lock, { force: true }) };
}

/** Whether the process that made a lock is gone, or must be. */
async function isLeftOver(lock: string, now: () => Date): Promise<boolean> {
  const stats = await lstat(lock).catch(() => undefined);
  if (!stats) return false;
  if (now().getTime() - stats.mtimeMs > MAX_LOCK_AGE_MS) return true;
  const pid = Number(await readlink(lock).catch(() => 0));
  return pid !== process.pid && !isOtherProcess(pid);
}

function unusable(path: string, why: string, options: ErrorOptions): DevtoolError {
  return new DevtoolError(`trust file ${JSON.stringify(path)}: ${why}`, Code.FailedPrecondition, options);
}

function codeOf(reason: unknown): string {
  return reason instanceof Error && "code" in reason ? String(reason.code) : "unknown";
}
