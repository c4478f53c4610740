import { closeSync, constants, fstatSync, lstatSync, openSync, readFileSync } from "node:fs";
import { mkdir, open, rename, rm } from "node:fs/promises";
import { dirname } from "node:path";
import { create, fromJsonString, toJsonString } from "@bufbuild/protobuf";
import { type TrustFile, TrustFileSchema } from "@devtool/schema";
import { Code, DevtoolError } from "../errors.ts";

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
    throw unusable(path, "it cannot be read: mend or remove it", reason);
  }
}

/** At once and not in the background: it is read with every message, and a small file takes less than the detour. */
function readOpened(path: string, descriptor: number): TrustFile {
  try {
    const { mode, uid } = fstatSync(descriptor);
    if ((mode & 0o022) !== 0 || uid !== process.getuid?.())
      throw unusable(path, "others may write it: chmod 600, chown");
    return fromJsonString(TrustFileSchema, readFileSync(descriptor, "utf8"));
  } finally {
    closeSync(descriptor);
  }
}

/**
 * Changes the grants: the new file is written beside the old one (mode 0600), synced and renamed over it. The file
 * beside it is made by one process at a time, so no change of another is lost. Throws `Code.Unavailable` when there is one.
 */
export async function changeTrustFile(path: string, change: (before: TrustFile) => TrustFile): Promise<void> {
  await mkdir(dirname(path), { recursive: true, mode: 0o700 });
  const beside = `${path}.new`;
  await using file = await openBeside(path, beside);
  try {
    const after = change(await readTrustFile(path));
    await file.chmod(0o600);
    await file.writeFile(`${toJsonString(TrustFileSchema, after, { prettySpaces: 2 })}\n`);
    await file.sync();
    await rename(beside, path);
  } catch (reason) {
    await rm(beside, { force: true });
    throw reason;
  }
  await using directory = await open(dirname(path), O_RDONLY);
  await directory.sync();
}

async function openBeside(path: string, beside: string): ReturnType<typeof open> {
  try {
    return await open(beside, O_WRONLY | O_CREAT | O_EXCL | O_NOFOLLOW, 0o600);
  } catch (reason) {
    const problem =
      codeOf(reason) === "EEXIST"
        ? `another process is changing it: try again, or remove ${JSON.stringify(beside)} when none is`
        : `${JSON.stringify(beside)} cannot be made: ${codeOf(reason)}`;
    throw new DevtoolError(`trust file ${JSON.stringify(path)}: ${problem}`, Code.Unavailable, { cause: reason });
  }
}

function unusable(path: string, problem: string, cause?: unknown): DevtoolError {
  return new DevtoolError(`trust file ${JSON.stringify(path)}: ${problem}`, Code.FailedPrecondition, { cause });
}

function codeOf(reason: unknown): string {
  return reason instanceof Error && "code" in reason ? String(reason.code) : "unknown";
}
