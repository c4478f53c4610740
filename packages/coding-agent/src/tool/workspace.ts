import { type BigIntStats, type Dirent, type Stats, statSync } from "node:fs";
import { relative, resolve, sep } from "node:path";
import { keepStart } from "@devtool/internal/cut-text";
import type { DirectoryAccess } from "@devtool/internal/directory-access";
import { failpoint } from "@devtool/internal/failpoint";
import { isOtherProcess } from "@devtool/internal/other-process";
import { isInside } from "@devtool/internal/real-path";
import { Code, DevtoolError } from "@devtool/server/agent";
import { changedError, Descriptor, pathDenied } from "./descriptor.ts";

/** The maximum size, in bytes, of a file that is read as a whole: 10 MiB. */
export const MAX_FILE_BYTES: number = 10 * 1024 * 1024;

/**
 * Gives access to the files in the directory of an agent, and to nothing
 * outside it (S9).
 *
 * Opens every path segment by segment with directory descriptors, without
 * following symbolic links. Before the first byte is read or written, compares
 * the real path of the opened file with the workspace. So a link that appears
 * between a check and its use has no effect; on systems other than Linux,
 * `DirectoryAccess` says what is left of that. Paths are relative to the
 * workspace, or absolute paths inside it.
 *
 * The methods are synchronous: each takes microseconds, which is less than a
 * round trip through a thread.
 */
export class Workspace implements Disposable {
  /** The real path of the directory: an absolute path. */
  readonly root: string;
  #rootDescriptor: Descriptor | undefined;
  readonly #access: DirectoryAccess | undefined;
  #temporaries = 0;

  /**
   * @param access how directories are reached. Default: the strongest access
   * that this system has
   */
  constructor(root: string, access?: DirectoryAccess) {
    this.root = root;
    this.#access = access;
  }

  /**
   * Returns a path relative to the workspace, with `/` as separator. Empty for
   * the workspace itself.
   *
   * Throws `Code.PermissionDenied` for a path outside the workspace.
   */
  locate(path: string): string {
    if (path.includes("\0")) throw pathDenied(path, "contains a NUL byte");
    if (!path.isWellFormed()) {
      throw pathDenied(path, "has half a character (a lone surrogate)");
    }
    const absolute = resolve(this.root, path);
    if (!isInside(this.root, absolute)) {
      throw pathDenied(
        path,
        `is outside workspace ${JSON.stringify(this.root)}`,
      );
    }
    return relative(this.root, absolute).split(sep).join("/");
  }

  /**
   * Reads a regular file. Returns undefined when it does not exist.
   *
   * Throws for anything that is not a regular file, and for a file of more than
   * `MAX_FILE_BYTES`.
   */
  readFile(path: string): Buffer | undefined {
    const { segments, name } = this.#split(path);
    using parent = this.#openDirectory(segments, path);
    using file = parent?.openFile(name, path);
    if (!file) return undefined;
    assertRegular(file, path);
    const { size } = file.stat();
    if (size > MAX_FILE_BYTES) {
      const problem = `file ${JSON.stringify(path)} has ${size} bytes, limit is ${MAX_FILE_BYTES}`;
      throw new DevtoolError(problem, Code.InvalidArgument, {
        remedy: "read_file reads some of its lines",
      });
    }
    this.#assertInside(file, path);
    return file.readAll();
  }

  /**
   * Opens a regular file of any size, to read it in pieces. Returns undefined
   * when it does not exist.
   *
   * Throws for anything that is not a regular file.
   */
  openFile(path: string): Descriptor | undefined {
    const { segments, name } = this.#split(path);
    using parent = this.#openDirectory(segments, path);
    const file = parent?.openFile(name, path);
    if (!file) return undefined;
    try {
      assertRegular(file, path);
      this.#assertInside(file, path);
      return file;
    } catch (reason) {
      file[Symbol.dispose]();
      throw reason;
    }
  }

  /**
   * Returns whether a path names something, also a link. False for a path that
   * leads outside the workspace or through a link.
   */
  exists(path: string): boolean {
    try {
      const segments = segmentsOf(this.locate(path));
      const name = segments.pop();
      using parent = this.#openDirectory(segments, path);
      return name === undefined || parent?.statOf(name) !== undefined;
    } catch {
      return false;
    }
  }

  /**
   * Writes a whole file, and creates missing directories: those above a file
   * with a `mode` are for the owner alone, who may have kept others out of them.
   *
   * Writes and syncs a temporary file in the same directory, then renames it. A
   * replaced file keeps its mode unless `mode` is given. Throws for a target
   * that is not a regular file or has several hard links.
   */
  writeFile(path: string, content: string | Uint8Array, mode?: number): void {
    const { segments, name } = this.#split(path);
    failpoint("devtool:workspace.write.before");
    const directoryMode = mode === undefined ? 0o777 : 0o700;
    using parent = this.#openOrCreateDirectory(segments, path, directoryMode);
    const replacedMode = modeToKeep(parent, name, path);
    const newMode = mode ?? replacedMode;
    const temporary = this.#createTemporary(
      parent,
      name,
      newMode ?? 0o644,
      path,
    );
    using file = temporary.file;
    try {
      this.#assertInside(file, path);
      if (newMode !== undefined) file.setMode(newMode);
      file.writeAll(content);
      failpoint("devtool:workspace.rename.before");
      parent.rename(temporary.name, name);
      parent.sync();
      failpoint("devtool:workspace.rename.after");
    } catch (reason) {
      parent.remove(temporary.name);
      throw reason;
    }
  }

  /** Removes a regular file. Does nothing when it does not exist. */
  removeFile(path: string): void {
    const { segments, name } = this.#split(path);
    using parent = this.#openDirectory(segments, path);
    using file = parent?.openFile(name, path);
    if (!parent || !file) return;
    assertRegular(file, path);
    this.#assertInside(file, path);
    failpoint("devtool:workspace.remove.before");
    parent.remove(name);
    parent.sync();
    failpoint("devtool:workspace.remove.after");
  }

  /**
   * Removes the temporary files that crashed processes left in a directory.
   * Keeps those of running processes.
   */
  removeLeftovers(path: string): void {
    using directory = this.#openDirectory(segmentsOf(this.locate(path)), path);
    failpoint("devtool:workspace.sweep.before");
    // Writes of this process are synchronous, so a temporary file of it is a
    // leftover too.
    for (const { name } of directory?.entries() ?? []) {
      const pid = LEFTOVER.exec(name)?.[1];
      if (pid !== undefined && !isOtherProcess(Number(pid))) {
        directory?.remove(name);
      }
    }
    failpoint("devtool:workspace.sweep.after");
  }

  /**
   * Lists a directory, sorted by name. Returns undefined when it does not
   * exist. Lists links without following them.
   */
  readDirectory(path: string): Dirent[] | undefined {
    using directory = this.#openDirectory(segmentsOf(this.locate(path)), path);
    return directory
      ?.entries()
      .sort((one, other) => (one.name < other.name ? -1 : 1));
  }

  /**
   * Lists the regular files in a directory with their status. Empty when the
   * directory does not exist.
   */
  filesIn(path: string): FileStatus[] {
    using directory = this.#openDirectory(segmentsOf(this.locate(path)), path);
    if (!directory) return [];
    const names = directory.entries().filter((entry) => entry.isFile());
    return names.flatMap(({ name }) => {
      const stats = directory.statOf(name);
      return stats?.isFile() ? [{ name, stats }] : [];
    });
  }

  /**
   * Returns the real path of a directory, to run a command in. Throws when it
   * does not exist.
   */
  directoryPath(path: string): string {
    using directory = this.#openDirectory(segmentsOf(this.locate(path)), path);
    if (!directory) {
      throw new DevtoolError(
        `directory ${JSON.stringify(path)} does not exist`,
        Code.InvalidArgument,
      );
    }
    const realPath = directory.realPath();
    if (realPath !== undefined) return realPath;
    throw changedError(path);
  }

  /**
   * Throws when a path of another process leads to another directory than this
   * workspace. One that this user may not look at, or whose process has ended,
   * passes.
   */
  assertLeadsHere(path: string): void {
    const { dev, ino } = this.#rootDirectory.stat();
    const there = statsOf(path);
    if (!there || (there.dev === dev && there.ino === ino)) return;
    throw new DevtoolError(
      `workspace ${JSON.stringify(this.root)} was moved since it was shown`,
      Code.Aborted,
      { remedy: "try again" },
    );
  }

  [Symbol.dispose](): void {
    this.#rootDescriptor?.[Symbol.dispose]();
  }

  get #rootDirectory(): Descriptor {
    this.#rootDescriptor ??= Descriptor.openDirectory(this.root, this.#access);
    const realPath = this.#rootDescriptor.realPath();
    if (realPath === this.root) return this.#rootDescriptor;
    // A link takes the place of a directory above the workspace, or the
    // workspace was moved.
    const elsewhere =
      realPath === undefined ? "" : `: it leads to ${JSON.stringify(realPath)}`;
    const problem = `is not where it was${elsewhere}`;
    throw new DevtoolError(
      `workspace ${JSON.stringify(this.root)} ${problem}`,
      Code.FailedPrecondition,
    );
  }

  /**
   * Splits the path of a file into the segments of its directory and its name.
   */
  #split(path: string): { readonly segments: string[]; readonly name: string } {
    const segments = segmentsOf(this.locate(path));
    const name = segments.pop();
    if (name === undefined) {
      throw pathDenied(path, "is the workspace itself", "name a file in it");
    }
    return { segments, name };
  }

  /**
   * Creates a file with an unused name in the directory of the file that it
   * will replace.
   */
  #createTemporary(
    parent: Descriptor,
    name: string,
    mode: number,
    path: string,
  ): TemporaryFile {
    for (let attempt = 0; attempt < MAX_TEMPORARIES; attempt++) {
      // A name has at most 255 bytes, and UTF-8 needs up to three bytes per
      // UTF-16 unit.
      const temporary = `.${keepStart(name, 60)}.${process.pid}.${this.#temporaries++}.devtool-tmp`;
      const file = parent.createFile(temporary, mode, path);
      if (file) return { name: temporary, file };
    }
    throw pathDenied(
      path,
      "has no free name for a temporary file beside it",
      "remove the files that end in .devtool-tmp",
    );
  }

  /** Opens a directory. Returns undefined when it does not exist. */
  #openDirectory(
    segments: readonly string[],
    path: string,
  ): Descriptor | undefined {
    let directory = this.#rootDirectory.lend();
    for (const segment of segments) {
      using parent = directory;
      const next = parent.openDirectory(segment, path);
      if (!next) return undefined;
      directory = next;
    }
    return directory;
  }

  #openOrCreateDirectory(
    segments: readonly string[],
    path: string,
    mode: number,
  ): Descriptor {
    let directory = this.#rootDirectory.lend();
    for (const segment of segments) {
      using parent = directory;
      directory =
        parent.openDirectory(segment, path) ??
        parent.makeDirectory(segment, mode, path);
    }
    return directory;
  }

  /** Throws unless the real path of an open file is inside the workspace. */
  #assertInside(file: Descriptor, path: string): void {
    const realPath = file.realPath();
    if (realPath === undefined) throw changedError(path);
    if (isInside(this.root, realPath)) return;
    throw pathDenied(path, `is outside workspace ${JSON.stringify(this.root)}`);
  }
}

/** A regular file in a directory. */
export interface FileStatus {
  readonly name: string;
  readonly stats: BigIntStats;
}

interface TemporaryFile {
  readonly name: string;
  readonly file: Descriptor;
}

function statsOf(path: string): Stats | undefined {
  try {
    return statSync(path);
  } catch {
    return undefined;
  }
}

/**
 * Splits a path that is relative to the workspace. The workspace itself has no
 * segments.
 */
function segmentsOf(path: string): string[] {
  return path === "" ? [] : path.split("/");
}

/** The number of names for a temporary file that a write tries. */
const MAX_TEMPORARIES = 1000;

/** Matches the name of a temporary file and captures the id of its process. */
const LEFTOVER = /^\..*\.(\d+)\.\d+\.devtool-tmp$/s;

/**
 * Returns the mode of a file that will be replaced. Undefined when it does not
 * exist.
 */
function modeToKeep(
  parent: Descriptor,
  name: string,
  path: string,
): number | undefined {
  using file = parent.openFile(name, path);
  if (!file) return undefined;
  assertRegular(file, path);
  const { nlink, mode } = file.stat();
  if (nlink > 1) {
    throw pathDenied(
      path,
      "has several hard links: writing it could change files elsewhere",
    );
  }
  return mode & 0o777;
}

function assertRegular(file: Descriptor, path: string): void {
  const stats = file.stat();
  if (stats.isDirectory()) {
    throw new DevtoolError(
      `path ${JSON.stringify(path)} is a directory`,
      Code.InvalidArgument,
      { remedy: "name a file in it" },
    );
  }
  if (!stats.isFile()) throw pathDenied(path, "is not a regular file");
}
