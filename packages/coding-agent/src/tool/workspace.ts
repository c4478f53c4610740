import type { BigIntStats, Dirent } from "node:fs";
import { relative, resolve, sep } from "node:path";
import { Code, DevtoolError, failpoint, isInside, isOtherProcess } from "@devtool/server/agent";
import { Descriptor } from "./descriptor.ts";

/** A file may have so many bytes to be read as a whole: 10 MiB. */
export const MAX_FILE_BYTES: number = 10 * 1024 * 1024;

/**
 * The directory that an agent may touch, and nothing outside it (S9).
 *
 * Every path is walked segment by segment with directory descriptors that follow no symbolic link, and what was opened
 * is compared with the workspace before its first byte is read or written; so a link that appears between a check and
 * its use leads nowhere. Paths may be relative to the workspace or absolute inside it. Needs Linux.
 *
 * The calls are synchronous: each takes microseconds where a round trip through a thread takes more, and files are small.
 */
export class Workspace implements Disposable {
  /** The real absolute path. */
  readonly root: string;
  #rootDescriptor: Descriptor | undefined;
  #temporaries = 0;

  constructor(root: string) {
    this.root = root;
  }

  /** The path of something in the workspace, relative to it and with `/`; empty for the workspace itself. Throws `Code.PermissionDenied` for a path outside. */
  locate(path: string): string {
    if (path.includes("\0")) throw denied(path, "holds a NUL byte");
    const way = relative(this.root, resolve(this.root, path));
    if (!isInside(this.root, resolve(this.root, path))) {
      throw denied(path, `is outside workspace ${JSON.stringify(this.root)}`);
    }
    return way.split(sep).join("/");
  }

  /** Reads a regular file; undefined when there is none. Throws for anything else, and past `MAX_FILE_BYTES`. */
  readFile(path: string): Buffer | undefined {
    const { segments, name } = this.#split(path);
    using parent = this.#descend(segments, path);
    using file = parent?.openFile(name, path);
    if (!file) return undefined;
    assertReadable(file, path);
    this.#assertInside(file, path);
    return file.readAll();
  }

  /** Opens a regular file of any size to read it piece by piece; undefined when there is none. Throws for anything else. */
  openFile(path: string): Descriptor | undefined {
    const { segments, name } = this.#split(path);
    using parent = this.#descend(segments, path);
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
   * Writes a whole file, making its directories when they are missing: a temporary file beside it, synced, then renamed
   * over it. A file that is replaced keeps its mode unless one is given. Throws for a target that is no regular file or
   * has other names (hard links).
   */
  writeFile(path: string, content: string | Uint8Array, mode?: number): void {
    const { segments, name } = this.#split(path);
    failpoint("devtool:workspace.write.before");
    using parent = this.#descendMaking(segments, path);
    const replaced = replacedMode(parent, name, path);
    const kept = mode ?? replaced;
    const temporary = this.#createTemporary(parent, name, path);
    using file = temporary.file;
    try {
      this.#assertInside(file, path);
      if (kept !== undefined) file.setMode(kept);
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

  /** Removes a regular file; does nothing when there is none. */
  removeFile(path: string): void {
    const { segments, name } = this.#split(path);
    using parent = this.#descend(segments, path);
    using file = parent?.openFile(name, path);
    if (!parent || !file) return;
    assertRegular(file, path);
    this.#assertInside(file, path);
    failpoint("devtool:workspace.remove.before");
    parent.remove(name);
    parent.sync();
    failpoint("devtool:workspace.remove.after");
  }

  /** Removes what writes to a directory left behind that a crash of their process cut; those of living processes stay. */
  removeLeftovers(path: string): void {
    using directory = this.#descend(segmentsOf(this.locate(path)), path);
    failpoint("devtool:workspace.sweep.before");
    // One of this process writes without pause, so nothing of it is unfinished.
    for (const { name } of directory?.entries() ?? []) {
      const pid = LEFTOVER.exec(name)?.[1];
      if (pid !== undefined && !isOtherProcess(Number(pid))) directory?.remove(name);
    }
    failpoint("devtool:workspace.sweep.after");
  }

  /** Lists a directory, sorted by name; undefined when there is none. Links are listed, not followed. */
  readDirectory(path: string): Dirent[] | undefined {
    using directory = this.#descend(segmentsOf(this.locate(path)), path);
    return directory?.entries().sort((one, other) => (one.name < other.name ? -1 : 1));
  }

  /** Lists the regular files directly in a directory with what is known of each; empty when there is no such directory. */
  filesIn(path: string): { readonly name: string; readonly stats: BigIntStats }[] {
    using directory = this.#descend(segmentsOf(this.locate(path)), path);
    if (!directory) return [];
    const names = directory.entries().filter((entry) => entry.isFile());
    return names.flatMap(({ name }) => {
      const stats = directory.statOf(name);
      return stats?.isFile() ? [{ name, stats }] : [];
    });
  }

  /** The real path of a directory of the workspace, to run a command in. Throws when there is none. */
  directoryPath(path: string): string {
    using directory = this.#descend(segmentsOf(this.locate(path)), path);
    if (!directory) throw new DevtoolError(`directory ${JSON.stringify(path)} does not exist`, Code.InvalidArgument);
    return directory.realPath();
  }

  [Symbol.dispose](): void {
    this.#rootDescriptor?.[Symbol.dispose]();
  }

  get #rootDirectory(): Descriptor {
    this.#rootDescriptor ??= this.#openRoot();
    return this.#rootDescriptor;
  }

  /** A link in the place of a directory above the workspace would lead to another directory of the same name. */
  #openRoot(): Descriptor {
    const directory = Descriptor.openDirectory(this.root);
    const real = directory.realPath();
    if (real === this.root) return directory;
    directory[Symbol.dispose]();
    const problem = `is not where it was: it leads to ${JSON.stringify(real)}`;
    throw new DevtoolError(`workspace ${JSON.stringify(this.root)} ${problem}`, Code.FailedPrecondition);
  }

  #split(path: string): { readonly segments: string[]; readonly name: string } {
    const segments = segmentsOf(this.locate(path));
    const name = segments.pop();
    if (name === undefined) throw denied(path, "is the workspace itself", "name a file in it");
    return { segments, name };
  }

  /** Makes a file beside the one that it shall replace, under a name that nothing has. */
  #createTemporary(
    parent: Descriptor,
    name: string,
    path: string,
  ): { readonly name: string; readonly file: Descriptor } {
    for (let attempt = 0; attempt < MAX_TEMPORARIES; attempt++) {
      // A name has at most 255 bytes, and a character up to three per unit.
      const temporary = `.${name.slice(0, 60)}.${process.pid}.${this.#temporaries++}.devtool-tmp`;
      const file = parent.createFile(temporary, 0o644, path);
      if (file) return { name: temporary, file };
    }
    throw denied(path, "has no free name for a temporary file beside it", "remove the files that end in .devtool-tmp");
  }

  /** Opens the directory at the end of segments; undefined when one of them is missing. */
  #descend(segments: readonly string[], path: string): Descriptor | undefined {
    let directory = this.#rootDirectory.lend();
    for (const segment of segments) {
      using parent = directory;
      const next = parent.openDirectory(segment, path);
      if (!next) return undefined;
      directory = next;
    }
    return directory;
  }

  #descendMaking(segments: readonly string[], path: string): Descriptor {
    let directory = this.#rootDirectory.lend();
    for (const segment of segments) {
      using parent = directory;
      directory = parent.openDirectory(segment, path) ?? parent.makeDirectory(segment, path);
    }
    return directory;
  }

  /** Compares where a descriptor really is with the workspace. */
  #assertInside(file: Descriptor, path: string): void {
    const root = this.#rootDirectory.realPath();
    if (file.realPath().startsWith(root === "/" ? root : `${root}/`)) return;
    throw denied(path, `is outside workspace ${JSON.stringify(this.root)}`);
  }
}

function segmentsOf(way: string): string[] {
  return way === "" ? [] : way.split("/");
}

/** So many temporary files may lie beside a file before a write gives up. */
const MAX_TEMPORARIES = 1000;
const LEFTOVER = /^\..*\.(\d+)\.\d+\.devtool-tmp$/s;

/** The mode that a file keeps when it is replaced; undefined when there is none. */
function replacedMode(parent: Descriptor, name: string, path: string): number | undefined {
  using file = parent.openFile(name, path);
  if (!file) return undefined;
  assertRegular(file, path);
  const { nlink, mode } = file.stat();
  if (nlink > 1) throw denied(path, "has other names (hard links): writing it could change files elsewhere");
  return mode & 0o777;
}

function assertRegular(file: Descriptor, path: string): void {
  const stats = file.stat();
  if (stats.isDirectory()) {
    throw new DevtoolError(`path ${JSON.stringify(path)} is a directory`, Code.InvalidArgument, {
      remedy: "name a file in it",
    });
  }
  if (!stats.isFile()) throw denied(path, "is no regular file");
}

function assertReadable(file: Descriptor, path: string): void {
  assertRegular(file, path);
  const { size } = file.stat();
  if (size <= MAX_FILE_BYTES) return;
  throw new DevtoolError(
    `file ${JSON.stringify(path)} has ${size} bytes, limit is ${MAX_FILE_BYTES}`,
    Code.InvalidArgument,
    { remedy: "read_file reads some of its lines" },
  );
}

function denied(path: string, problem: string, remedy = ""): DevtoolError {
  return new DevtoolError(`path ${JSON.stringify(path)} ${problem}`, Code.PermissionDenied, { remedy });
}
