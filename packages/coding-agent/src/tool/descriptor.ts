import {
  type BigIntStats,
  closeSync,
  constants,
  type Dirent,
  fchmodSync,
  fstatSync,
  fsyncSync,
  lstatSync,
  mkdirSync,
  openSync,
  readdirSync,
  readFileSync,
  readSync,
  renameSync,
  rmSync,
  type Stats,
  writeFileSync,
} from "node:fs";
import { dirname, join } from "node:path";
import {
  type DirectoryAccess,
  directoryAccess,
} from "@devtool/internal/directory-access";
import { syncDirectory } from "@devtool/internal/sync-directory";
import { Code, DevtoolError } from "@devtool/server/agent";
import { systemErrorCode } from "../client-error.ts";

const {
  O_CREAT,
  O_DIRECTORY,
  O_EXCL,
  O_NOFOLLOW,
  O_NONBLOCK,
  O_RDONLY,
  O_WRONLY,
} = constants;

/**
 * The buffer for `readNext`, shared by all descriptors. Reads are synchronous,
 * so they do not overlap.
 */
const scratch = Buffer.allocUnsafeSlow(256 * 1024);

/**
 * An open file or directory.
 *
 * Entries of a directory are opened through it (`DirectoryAccess`), so they are
 * in that directory even if its path leads elsewhere by now. Symbolic links are
 * not followed. Methods that take a `path` use it only in error messages.
 */
export class Descriptor implements Disposable {
  readonly #fd: number;
  /** Where it was opened: the real path of its directory, and its name. */
  readonly #place: string;
  readonly #access: DirectoryAccess;
  readonly #ownership: "owned" | "lent";

  /** Opens a directory by its real path. */
  static openDirectory(
    path: string,
    access: DirectoryAccess = directoryAccess,
  ): Descriptor {
    try {
      const flags = O_RDONLY | O_DIRECTORY | O_NOFOLLOW;
      return new Descriptor(openSync(path, flags), path, access);
    } catch (reason) {
      throw openError(path, reason);
    }
  }

  private constructor(
    fd: number,
    place: string,
    access: DirectoryAccess,
    ownership: "owned" | "lent" = "owned",
  ) {
    this.#fd = fd;
    this.#place = place;
    this.#access = access;
    this.#ownership = ownership;
  }

  /**
   * Returns a descriptor of the same directory that does not close it when it
   * is disposed of.
   */
  lend(): Descriptor {
    return new Descriptor(this.#fd, this.#place, this.#access, "lent");
  }

  /**
   * Opens a directory in this one. Returns undefined when it does not exist.
   */
  openDirectory(name: string, path: string): Descriptor | undefined {
    return this.#open(name, O_RDONLY | O_DIRECTORY | O_NOFOLLOW, path);
  }

  /**
   * Opens an entry of this directory for reading, without waiting on a pipe.
   * Returns undefined when it does not exist.
   */
  openFile(name: string, path: string): Descriptor | undefined {
    return this.#open(name, O_RDONLY | O_NOFOLLOW | O_NONBLOCK, path);
  }

  /** Creates a directory in this one and opens it. */
  makeDirectory(name: string, mode: number, path: string): Descriptor {
    this.#at(name, (at) => mkdirSync(at, mode));
    const created = this.openDirectory(name, path);
    if (created) return created;
    throw changedError(path);
  }

  /**
   * Creates a file in this directory and opens it for writing. Returns
   * undefined when the name is in use.
   */
  createFile(name: string, mode: number, path: string): Descriptor | undefined {
    const flags = O_WRONLY | O_CREAT | O_EXCL | O_NOFOLLOW;
    return this.#open(name, flags, path, { missing: "EEXIST", mode });
  }

  rename(from: string, to: string): void {
    this.#at(from, (at) => renameSync(at, join(dirname(at), to)));
  }

  remove(name: string): void {
    this.#at(name, (at) => rmSync(at, { force: true }));
  }

  entries(): Dirent[] {
    return this.#at("", (at) => readdirSync(at, { withFileTypes: true }));
  }

  stat(): Stats {
    return fstatSync(this.#fd);
  }

  /**
   * Returns the status of an entry without opening it or following a link.
   * Undefined when it does not exist any more.
   */
  statOf(name: string): BigIntStats | undefined {
    return this.#at(name, (at) =>
      lstatSync(at, { bigint: true, throwIfNoEntry: false }),
    );
  }

  /** Sets the mode, regardless of the umask. */
  setMode(mode: number): void {
    fchmodSync(this.#fd, mode);
  }

  /**
   * Returns the current real path; undefined when it is not where it was opened,
   * and its new place is not known.
   */
  realPath(): string | undefined {
    return this.#access.realPath(this.#fd, this.#place);
  }

  readAll(): Buffer {
    return readFileSync(this.#fd);
  }

  /**
   * Reads at most `maxBytes` bytes, and at most 256 KiB, from where the last
   * read ended. Empty at the end of the file.
   */
  readNext(maxBytes: number): Buffer {
    const length = readSync(
      this.#fd,
      scratch,
      0,
      Math.min(maxBytes, scratch.length),
      null,
    );
    return Buffer.from(scratch.subarray(0, length));
  }

  /** Writes the content and waits until it is on disk. */
  writeAll(content: string | Uint8Array): void {
    writeFileSync(this.#fd, content);
    this.sync();
  }

  /**
   * Waits until the content of a file, or the names in a directory, are on
   * disk.
   */
  sync(): void {
    if (this.stat().isDirectory()) {
      syncDirectory(this.#fd);
    } else {
      fsyncSync(this.#fd);
    }
  }

  [Symbol.dispose](): void {
    if (this.#ownership === "owned") closeSync(this.#fd);
  }

  /** Calls a function with the path of an entry of this directory. */
  #at<T>(name: string, use: (path: string) => T): T {
    const result = use(join(this.#reach(), name));
    this.#reach();
    return result;
  }

  #reach(): string {
    const path = this.#access.reach(this.#fd, this.#place);
    if (path === undefined) throw changedError(this.#place);
    return path;
  }

  #open(
    name: string,
    flags: number,
    path: string,
    { missing = "ENOENT", mode = 0o666 } = {},
  ): Descriptor | undefined {
    const place = join(this.#reach(), name);
    let fd: number;
    try {
      fd = openSync(place, flags, mode);
    } catch (reason) {
      if (systemErrorCode(reason) === missing) return undefined;
      throw openError(path, reason);
    }
    const real = this.#access.reach(fd, place);
    if (real !== undefined) return new Descriptor(fd, place, this.#access);
    closeSync(fd);
    throw pathDenied(
      path,
      "goes through a symbolic link, or was changed while it was opened",
      "name the place that it points to, or try again",
    );
  }
}

/** Creates the error for a path that another process changes. */
export function changedError(path: string): DevtoolError {
  return pathDenied(path, "was changed while it was used", "try again");
}

function openError(path: string, reason: unknown): DevtoolError {
  const code = systemErrorCode(reason);
  switch (code) {
    case "ELOOP":
      return pathDenied(
        path,
        "goes through a symbolic link",
        "name the place that it points to",
      );
    case "ENOTDIR":
      return pathDenied(
        path,
        "goes through a symbolic link or through something that is not a directory",
      );
    case "EACCES":
    case "EPERM":
      return pathDenied(
        path,
        "may not be opened by the user that the server runs as",
      );
    default: {
      const problem = `path ${JSON.stringify(path)} cannot be opened: ${code}`;
      return new DevtoolError(problem, Code.InvalidArgument, { cause: reason });
    }
  }
}

/** Creates the error for a path that an agent may not access. */
export function pathDenied(
  path: string,
  problem: string,
  remedy = "",
): DevtoolError {
  return new DevtoolError(
    `path ${JSON.stringify(path)} ${problem}`,
    Code.PermissionDenied,
    { remedy },
  );
}
