import { constants, type Dirent, type Stats } from "node:fs";
import { type FileHandle, mkdir, open, readdir, readlink, rename, rm } from "node:fs/promises";
import { isAbsolute, relative, resolve, sep } from "node:path";
import { Code, DevtoolError } from "../errors.ts";

const { O_CREAT, O_DIRECTORY, O_EXCL, O_NOFOLLOW, O_NONBLOCK, O_RDONLY, O_WRONLY } = constants;

/** A file may have so many bytes to be read or replaced: 10 MiB. */
export const MAX_FILE_BYTES: number = 10 * 1024 * 1024;

/**
 * The directory that an agent may touch, and nothing outside it (S9).
 *
 * Every path is walked segment by segment with directory descriptors that follow no symbolic link, and what was opened
 * is compared with the workspace before its first byte is read or written; so a link that appears between a check and
 * its use leads nowhere. Paths may be relative to the workspace or absolute inside it.
 */
export class Workspace implements AsyncDisposable {
  readonly #rootHandle: FileHandle;
  #temporaries = 0;

  /** Opens a workspace at its real path. Throws a `DevtoolError` when this platform has no descriptor paths. */
  static async open(root: string): Promise<Workspace> {
    return new Workspace(root, await open(root, O_RDONLY | O_DIRECTORY | O_NOFOLLOW));
  }

  private constructor(
    /** The real absolute path. */
    readonly root: string,
    rootHandle: FileHandle,
  ) {
    this.#rootHandle = rootHandle;
  }

  /** The path of something in the workspace, relative to it and with `/`; empty for the workspace itself. Throws `Code.PermissionDenied` for a path outside. */
  locate(path: string): string {
    if (path.includes("\0")) throw denied(path, "holds a NUL byte");
    const way = relative(this.root, resolve(this.root, path));
    if (way === ".." || way.startsWith(`..${sep}`) || isAbsolute(way)) {
      throw denied(path, `is outside workspace ${JSON.stringify(this.root)}`);
    }
    return way.split(sep).join("/");
  }

  /** Reads a regular file; undefined when there is none. Throws for anything else, and past `MAX_FILE_BYTES`. */
  async readFile(path: string): Promise<Buffer | undefined> {
    const { segments, name } = this.#split(path);
    await using parent = await this.#descend(segments, path);
    if (!parent) return undefined;
    await using file = await openEntry(parent, name, O_RDONLY | O_NOFOLLOW | O_NONBLOCK, path);
    if (!file) return undefined;
    assertReadable(await file.stat(), path);
    await this.#assertInside(file, path);
    return await file.readFile();
  }

  /**
   * Writes a whole file, making its directories when they are missing: a temporary file beside it, synced, then renamed
   * over it. Throws for a target that is no regular file or has other names (hard links).
   */
  async writeFile(path: string, content: string): Promise<void> {
    const { segments, name } = this.#split(path);
    await using parent = await this.#descendMaking(segments, path);
    const mode = await this.#replaceableMode(parent, name, path);
    const temporary = `.${name.slice(0, 100)}.${process.pid}.${this.#temporaries++}.tmp`;
    await using file = await open(at(parent, temporary), O_WRONLY | O_CREAT | O_EXCL | O_NOFOLLOW, mode);
    try {
      await this.#assertInside(file, path);
      await file.writeFile(content);
      await file.sync();
      await rename(at(parent, temporary), at(parent, name));
    } catch (reason) {
      await rm(at(parent, temporary), { force: true });
      throw reason;
    }
  }

  /** Lists a directory, sorted by name; undefined when there is none. Links are listed, not followed. */
  async readDirectory(path: string): Promise<Dirent[] | undefined> {
    const way = this.locate(path);
    await using directory = await this.#descend(way === "" ? [] : way.split("/"), path);
    if (!directory) return undefined;
    const entries = await readdir(descriptorPath(directory), { withFileTypes: true });
    return entries.sort((one, other) => (one.name < other.name ? -1 : 1));
  }

  /** Lists the regular files below a directory, with their paths in the workspace. Goes into no link; skips `.git`. */
  async *walk(path: string, signal: AbortSignal): AsyncIterable<string> {
    const way = this.locate(path);
    for (const entry of (await this.readDirectory(path)) ?? []) {
      signal.throwIfAborted();
      const below = way === "" ? entry.name : `${way}/${entry.name}`;
      if (entry.isFile()) yield below;
      else if (entry.isDirectory() && !SKIPPED.has(entry.name)) yield* this.walk(below, signal);
    }
  }

  /** The real path of a directory of the workspace, to run a command in. Throws when there is none. */
  async directoryPath(path: string): Promise<string> {
    const way = this.locate(path);
    await using directory = await this.#descend(way === "" ? [] : way.split("/"), path);
    if (!directory) throw new DevtoolError(`directory ${JSON.stringify(path)} does not exist`, Code.InvalidArgument);
    return await readlink(descriptorPath(directory));
  }

  async [Symbol.asyncDispose](): Promise<void> {
    await this.#rootHandle.close();
  }

  #split(path: string): { readonly segments: string[]; readonly name: string } {
    const segments = this.locate(path).split("/");
    const name = segments.pop() ?? "";
    if (name === "") throw denied(path, "is the workspace itself: name a file in it");
    return { segments, name };
  }

  /** Opens the directory at the end of segments; undefined when one of them is missing. */
  async #descend(segments: readonly string[], path: string): Promise<FileHandle | undefined> {
    let directory = await open(descriptorPath(this.#rootHandle), O_RDONLY | O_DIRECTORY);
    for (const segment of segments) {
      await using parent = directory;
      const next = await openEntry(parent, segment, O_RDONLY | O_DIRECTORY | O_NOFOLLOW, path);
      if (!next) return undefined;
      directory = next;
    }
    return directory;
  }

  async #descendMaking(segments: readonly string[], path: string): Promise<FileHandle> {
    let directory = await open(descriptorPath(this.#rootHandle), O_RDONLY | O_DIRECTORY);
    for (const segment of segments) {
      await using parent = directory;
      const flags = O_RDONLY | O_DIRECTORY | O_NOFOLLOW;
      const next = (await openEntry(parent, segment, flags, path)) ?? (await makeDirectory(parent, segment, path));
      directory = next;
    }
    return directory;
  }

  /** The mode that a file keeps when it is replaced; that of a new file when there is none. */
  async #replaceableMode(parent: FileHandle, name: string, path: string): Promise<number> {
    await using file = await openEntry(parent, name, O_RDONLY | O_NOFOLLOW | O_NONBLOCK, path);
    if (!file) return 0o644;
    const stats = await file.stat();
    assertReadable(stats, path);
    if (stats.nlink > 1) throw denied(path, "has other names (hard links): writing it could change files elsewhere");
    return stats.mode & 0o777;
  }

  /** Compares where a descriptor really is with the workspace. */
  async #assertInside(file: FileHandle, path: string): Promise<void> {
    const [real, root] = await Promise.all([
      readlink(descriptorPath(file)),
      readlink(descriptorPath(this.#rootHandle)),
    ]);
    if (!real.startsWith(root === "/" ? root : `${root}/`)) {
      throw denied(path, `is outside workspace ${JSON.stringify(this.root)}`);
    }
  }
}

const SKIPPED: ReadonlySet<string> = new Set([".git", "node_modules"]);

function descriptorPath(handle: FileHandle): string {
  return `/proc/self/fd/${handle.fd}`;
}

function at(directory: FileHandle, name: string): string {
  return `${descriptorPath(directory)}/${name}`;
}

async function openEntry(
  parent: FileHandle,
  name: string,
  flags: number,
  path: string,
): Promise<FileHandle | undefined> {
  try {
    return await open(at(parent, name), flags);
  } catch (reason) {
    if (codeOf(reason) === "ENOENT") return undefined;
    throw entryError(path, reason);
  }
}

async function makeDirectory(parent: FileHandle, name: string, path: string): Promise<FileHandle> {
  await mkdir(at(parent, name));
  const made = await openEntry(parent, name, O_RDONLY | O_DIRECTORY | O_NOFOLLOW, path);
  if (made) return made;
  throw denied(path, "was changed while it was opened: try again");
}

function entryError(path: string, reason: unknown): DevtoolError {
  switch (codeOf(reason)) {
    case "ELOOP":
      return denied(path, "goes through a symbolic link: name the place that it points to");
    case "ENOTDIR":
      return denied(path, "goes through a symbolic link or through something that is no directory");
    case "EACCES":
    case "EPERM":
      return denied(path, "may not be opened by the user that the server runs as");
    case "ENAMETOOLONG":
      return new DevtoolError(`path ${JSON.stringify(path)} has a name that is too long`, Code.InvalidArgument);
    default:
      return new DevtoolError(
        `path ${JSON.stringify(path)} cannot be opened: ${codeOf(reason)}`,
        Code.InvalidArgument,
        {
          cause: reason,
        },
      );
  }
}

function assertReadable(stats: Stats, path: string): void {
  if (stats.isDirectory()) throw new DevtoolError(`path ${JSON.stringify(path)} is a directory`, Code.InvalidArgument);
  if (!stats.isFile()) throw denied(path, "is no regular file");
  if (stats.size > MAX_FILE_BYTES) {
    throw new DevtoolError(
      `file ${JSON.stringify(path)} has ${stats.size} bytes: limit is ${MAX_FILE_BYTES}`,
      Code.InvalidArgument,
    );
  }
}

function denied(path: string, problem: string): DevtoolError {
  return new DevtoolError(`path ${JSON.stringify(path)} ${problem}`, Code.PermissionDenied);
}

function codeOf(reason: unknown): string {
  return reason instanceof Error && "code" in reason ? String(reason.code) : "unknown";
}
