import { constants } from "node:fs";
import { type FileHandle, open, readdir, rename, rm } from "node:fs/promises";
import { basename, dirname, join } from "node:path";
import { failpoint } from "./failpoint.ts";
import { isOtherProcess } from "./other-process.ts";
import { syncDirectory } from "./sync-directory.ts";

const { O_CREAT, O_DIRECTORY, O_EXCL, O_NOFOLLOW, O_RDONLY, O_WRONLY } =
  constants;

/**
 * Replaces the content of a file, or creates the file. After a crash the file
 * has the old content or the new one, and the new one once the promise has
 * resolved.
 *
 * Writes a temporary file beside the target with exactly the given mode, syncs
 * it, renames it over the target and syncs the directory. A symbolic link at
 * the target is replaced, not followed. Temporary files that crashed processes
 * left are removed. When it fails, the target is unchanged and the error of the
 * system call is thrown.
 *
 * Several processes may replace one file at the same time, and the last rename
 * wins. Within a process, the caller must wait for one replacement of a file
 * before it starts the next.
 *
 * @param verify is called with the temporary file and its name before a byte is
 * written, and may throw
 */
export async function replaceFile(
  path: string,
  content: string | Uint8Array,
  mode = 0o600,
  verify?: (file: FileHandle, name: string) => void,
): Promise<void> {
  const directory = dirname(path);
  const prefix = `.${basename(path)}.`;
  failpoint("devtool:file.write.before");
  for (const name of await readdir(directory)) {
    if (!name.startsWith(prefix) || !name.endsWith(SUFFIX)) continue;
    const pid = Number(name.slice(prefix.length, -SUFFIX.length));
    if (!isOtherProcess(pid)) await rm(join(directory, name), { force: true });
  }
  const temporary = join(directory, `${prefix}${process.pid}${SUFFIX}`);
  try {
    await using file = await open(
      temporary,
      O_WRONLY | O_CREAT | O_EXCL | O_NOFOLLOW,
      mode,
    );
    verify?.(file, basename(temporary));
    // The mode of `open` is subject to the umask.
    await file.chmod(mode);
    await file.writeFile(content);
    await file.sync();
    failpoint("devtool:file.rename.before");
    await rename(temporary, path);
  } catch (reason) {
    await rm(temporary, { force: true });
    throw reason;
  }
  await using opened = await open(directory, O_RDONLY | O_DIRECTORY);
  syncDirectory(opened.fd);
  failpoint("devtool:file.rename.after");
}

const SUFFIX = ".new";
