/**
 * The mode of an index entry that is a repository: a submodule, or one that was
 * added by mistake.
 */
const GITLINK = 0o160000;
/**
 * Size of the signature, the version and the number of entries
 * (gitformat-index).
 */
const HEADER_BYTES = 12;
/**
 * Offsets of the mode and of the hash in an entry; the flags follow the hash
 * (gitformat-index, "Index entry").
 */
const MODE_AT = 24;
const HASH_AT = 40;

/**
 * The longest path that Linux opens, in bytes. Git cannot look into a longer
 * one.
 */
const MAX_PATH_BYTES = 4096;
/** An entry that is not complete within this many bytes is truncated. */
const MAX_ENTRY_BYTES: number = 2 * MAX_PATH_BYTES;

/** What to look for in an index. */
export type IndexEntryKind = "gitlinks" | "files";

/**
 * Finds the gitlinks or the files in a git index of version 2 to 4, which is
 * pushed in pieces.
 *
 * A truncated index is read as far as it goes, and data that is not an index
 * has none.
 */
export class IndexParser {
  readonly #kind: IndexEntryKind;
  readonly #hashBytes: number;
  readonly #found: string[] = [];
  /** The incomplete entry at the end of the pieces so far. */
  #rest: Buffer = Buffer.alloc(0);
  #version = 0;
  /** The number of entries to read; undefined before the header. */
  #left: number | undefined;
  /** The path of the previous entry, of which one of version 4 keeps a part. */
  readonly #path: Buffer = Buffer.alloc(MAX_PATH_BYTES);
  #length = 0;

  /** `hashBytes` is the size of a hash in this repository, in bytes. */
  constructor(kind: IndexEntryKind, hashBytes: number) {
    this.#kind = kind;
    this.#hashBytes = hashBytes;
  }

  /** The paths found so far. */
  get found(): readonly string[] {
    return this.#found;
  }

  /** Reads a piece; returns whether a further one can change the result. */
  push(piece: Buffer): boolean {
    const window =
      this.#rest.length === 0 ? piece : Buffer.concat([this.#rest, piece]);
    let at = 0;
    if (this.#left === undefined && window.length >= HEADER_BYTES) {
      this.#version = window.readUInt32BE(4);
      this.#left =
        window.toString("latin1", 0, 4) === "DIRC" ? window.readUInt32BE(8) : 0;
      at = HEADER_BYTES;
    }
    while (this.#left !== undefined && this.#left > 0) {
      const end = this.#readEntry(window, at);
      if (end === undefined) break;
      at = end;
      this.#left--;
    }
    this.#rest = Buffer.from(window.subarray(at));
    return this.#left !== 0 && this.#rest.length <= MAX_ENTRY_BYTES;
  }

  /**
   * Reads an entry; returns the offset behind it, or undefined when the entry
   * is incomplete.
   */
  #readEntry(window: Buffer, at: number): number | undefined {
    const flagsAt = at + HASH_AT + this.#hashBytes;
    if (flagsAt + 4 > window.length) return undefined;
    const isExtended =
      this.#version >= 3 && (window.readUInt16BE(flagsAt) & 0x4000) !== 0;
    const nameAt = flagsAt + (isExtended ? 4 : 2);
    const dropped =
      this.#version === 4
        ? readOffset(window, nameAt)
        : { value: this.#length, end: nameAt };
    const end = dropped ? window.indexOf(0, dropped.end) : -1;
    if (!dropped || end < 0) return undefined;
    const kept = this.#length - dropped.value;
    const length = kept + end - dropped.end;
    // Up to version 3 an entry is padded with 1 to 8 NUL bytes to a multiple of
    // eight.
    const next =
      this.#version === 4 ? end + 1 : at + Math.ceil((end - at + 1) / 8) * 8;
    if (kept < 0 || length > MAX_PATH_BYTES || next > window.length) {
      return undefined;
    }
    window.copy(this.#path, kept, dropped.end, end);
    this.#length = length;
    const isGitlink = window.readUInt32BE(at + MODE_AT) === GITLINK;
    if (isGitlink === (this.#kind === "gitlinks")) {
      this.#found.push(this.#path.toString("utf8", 0, length));
    }
    return next;
  }
}

/**
 * Reads the number of bytes to drop from the previous path (gitformat-pack,
 * "offset encoding"); undefined when it is incomplete.
 */
function readOffset(
  window: Buffer,
  start: number,
): { readonly value: number; readonly end: number } | undefined {
  let value = -1;
  for (let at = start; at < window.length; at++) {
    const byte = window.readUInt8(at);
    value = (value + 1) * 128 + (byte & 0x7f);
    if ((byte & 0x80) === 0) return { value, end: at + 1 };
  }
  return undefined;
}
