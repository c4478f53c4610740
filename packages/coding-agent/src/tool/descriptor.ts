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
  readlinkSync,
  readSync,
  renameSync,
  rmSync,
  type Stats,
  writeFileSync,
} from "node:fs";
import { Code, DevtoolError } from "@devtool/server/agent";

const { O_CREAT, O_DIRECTORY, O_EXCL, O_NOFOLLOW, O_NONBLOCK, O_RDONLY, O_WRONLY } = constants;

/** What is read goes here first, so that a small file costs little memory; reads do not overlap. */
const scratch = Buffer.allocUnsafeSlow(256 * 1024);

/**
 * An open file or directory. What is in a directory is reached through its descriptor (`/proc/self/fd/N/name`), so it is
 * in that very directory, wherever its path leads by now. No link is followed. Errors name the path that was asked for.
 */
export class Descriptor implements Disposable {
  readonly #fd: number;

  /** Opens a directory by its path. */
  static openDirectory(path: string): Descriptor {
    return new Descriptor(openSync(path, O_RDONLY | O_DIRECTORY | O_NOFOLLOW));
  }

  protected constructor(fd: number) {
    this.#fd = fd;
  }

  /** The same directory for somebody who disposes of it as of their own: it stays open. */
  lend(): Descriptor {
    return new LentDescriptor(this.#fd);
  }

  /** Opens a directory in this one; undefined when there is none of that name. */
  openDirectory(name: string, path: string): Descriptor | undefined {
    return this.#open(name, O_RDONLY | O_DIRECTORY | O_NOFOLLOW, path);
  }

  /** Opens something in this directory to read it, without waiting on a pipe; undefined when there is none of that name. */
  openFile(name: string, path: string): Descriptor | undefined {
    return this.#open(name, O_RDONLY | O_NOFOLLOW | O_NONBLOCK, path);
  }

  /** Makes a directory in this one and opens it. */
  makeDirectory(name: string, path: string): Descriptor {
    mkdirSync(this.#at(name));
    const made = this.openDirectory(name, path);
    if (made) return made;
    throw denied(path, { problem: "was changed while it was opened", remedy: "try again" });
  }

  /** Makes a file in this directory; undefined when something of that name is there. */
  createFile(name: string, mode: number, path: string): Descriptor | undefined {
    try {
      return new Descriptor(openSync(this.#at(name), O_WRONLY | O_CREAT | O_EXCL | O_NOFOLLOW, mode));
    } catch (reason) {
      if (codeOf(reason) === "EEXIST") return undefined;
      throw openError(path, reason);
    }
  }

  rename(from: string, to: string): void {
    renameSync(this.#at(from), this.#at(to));
  }

  remove(name: string): void {
    rmSync(this.#at(name), { force: true });
  }

  entries(): Dirent[] {
    return readdirSync(this.#path, { withFileTypes: true });
  }

  stat(): Stats {
    return fstatSync(this.#fd);
  }

  /** What is known of something in this directory, without opening it or following it; undefined when it has gone. */
  statOf(name: string): BigIntStats | undefined {
    return lstatSync(this.#at(name), { bigint: true, throwIfNoEntry: false });
  }

  /** Sets the mode, whatever the umask. */
  setMode(mode: number): void {
    fchmodSync(this.#fd, mode);
  }

  /** Where it really is. */
  realPath(): string {
    return readlinkSync(this.#path);
  }

  readAll(): Buffer {
    return readFileSync(this.#fd);
  }

  /** Reads on from where the last read ended, at most so many bytes and at most 256 KiB; empty at the end. */
  readNext(maxBytes: number): Buffer {
    const length = readSync(this.#fd, scratch, 0, Math.min(maxBytes, scratch.length), null);
    return Buffer.from(scratch.subarray(0, length));
  }

  /** Writes all content and waits until it is on the disk. */
  writeAll(content: string | Uint8Array): void {
    writeFileSync(this.#fd, content);
    this.sync();
  }

  /** Waits until what was written, or the names in a directory, are on the disk. */
  sync(): void {
    fsyncSync(this.#fd);
  }

  [Symbol.dispose](): void {
    closeSync(this.#fd);
  }

  get #path(): string {
    return `/proc/self/fd/${this.#fd}`;
  }

  #at(name: string): string {
    return `${this.#path}/${name}`;
  }

  #open(name: string, flags: number, path: string): Descriptor | undefined {
    try {
      return new Descriptor(openSync(this.#at(name), flags));
    } catch (reason) {
      if (codeOf(reason) === "ENOENT") return undefined;
      throw openError(path, reason);
    }
  }
}

/** A descriptor that somebody else closes. */
class LentDescriptor extends Descriptor {
  override [Symbol.dispose](): void {
    // Whoever lent it closes it.
  }
}

function openError(path: string, reason: unknown): DevtoolError {
  const problem = PROBLEMS.get(codeOf(reason));
  if (problem !== undefined) return denied(path, problem);
  const message = `path ${JSON.stringify(path)} cannot be opened: ${codeOf(reason)}`;
  return new DevtoolError(message, Code.InvalidArgument, { cause: reason });
}

interface Denial {
  readonly problem: string;
  readonly remedy?: string;
}

const PROBLEMS: ReadonlyMap<string, Denial> = new Map<string, Denial>([
  ["ELOOP", { problem: "goes through a symbolic link", remedy: "name the place that it points to" }],
  ["ENOTDIR", { problem: "goes through a symbolic link or through something that is not a directory" }],
  ["EACCES", { problem: "may not be opened by the user that the server runs as" }],
  ["EPERM", { problem: "may not be opened by the user that the server runs as" }],
]);

function denied(path: string, { problem, remedy = "" }: Denial): DevtoolError {
  return new DevtoolError(`path ${JSON.stringify(path)} ${problem}`, Code.PermissionDenied, { remedy });
}

function codeOf(reason: unknown): string {
  return reason instanceof Error && "code" in reason ? String(reason.code) : "unknown";
}
