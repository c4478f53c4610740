/** The mode of an entry that is a repository of its own: a submodule, or one that was added by mistake. */
const GITLINK = 0o160000;
/** The signature, the version and the number of entries (gitformat-index). */
const HEADER_BYTES = 12;
/** What comes before the hash of an entry, and the flags behind it (gitformat-index, "Index entry"). */
const MODE_AT = 24;
const HASH_AT = 40;

/** The longest path that Linux opens: git cannot look into one that is longer. */
const MAX_PATH_BYTES = 4096;
/** An entry that is not complete within this size breaks off. */
const MAX_ENTRY_BYTES: number = 2 * MAX_PATH_BYTES;

/**
 * Finds the gitlinks among the entries of an index of version 2 to 4, piece by piece. An index that breaks off is read as
 * far as it goes, and what is not an index has none.
 */
export class GitlinkParser {
  readonly #hashBytes: number;
  readonly #gitlinks: string[] = [];
  /** What was not complete in the pieces before. */
  #rest: Buffer = Buffer.alloc(0);
  #version = 0;
  /** The number of entries that are still to come; undefined before the header. */
  #left: number | undefined;
  /** The path of the entry before: one of version 4 says how much of that it keeps. */
  readonly #path: Buffer = Buffer.alloc(MAX_PATH_BYTES);
  #length = 0;

  /** The size of a hash in this repository, in bytes. */
  constructor(hashBytes: number) {
    this.#hashBytes = hashBytes;
  }

  /** The paths found so far. */
  get gitlinks(): readonly string[] {
    return this.#gitlinks;
  }

  /** Reads on; returns whether more pieces can matter. */
  push(piece: Buffer): boolean {
    const window = this.#rest.length === 0 ? piece : Buffer.concat([this.#rest, piece]);
    let at = this.#left === undefined ? this.#readHeader(window) : 0;
    while (this.#left !== undefined && this.#left > 0) {
      const end = this.#readEntry(window, at);
      if (end === undefined) break;
      at = end;
      this.#left--;
    }
    this.#rest = Buffer.from(window.subarray(at));
    return this.#left !== 0 && this.#rest.length <= MAX_ENTRY_BYTES;
  }

  #readHeader(window: Buffer): number {
    if (window.length < HEADER_BYTES) return 0;
    this.#version = window.readUInt32BE(4);
    this.#left = window.toString("latin1", 0, 4) === "DIRC" ? window.readUInt32BE(8) : 0;
    return HEADER_BYTES;
  }

  /** Reads an entry; returns where it ends, or undefined when it is not complete. */
  #readEntry(window: Buffer, at: number): number | undefined {
    const flagsAt = at + HASH_AT + this.#hashBytes;
    if (flagsAt + 4 > window.length) return undefined;
    const isExtended = this.#version >= 3 && (window.readUInt16BE(flagsAt) & 0x4000) !== 0;
    const nameAt = flagsAt + (isExtended ? 4 : 2);
    const dropped = this.#version === 4 ? readOffset(window, nameAt) : { value: this.#length, end: nameAt };
    const end = dropped ? window.indexOf(0, dropped.end) : -1;
    if (!dropped || end < 0) return undefined;
    const kept = this.#length - dropped.value;
    const length = kept + end - dropped.end;
    // Up to version 3 an entry is padded with 1 to 8 NUL bytes to a multiple of eight.
    const next = this.#version === 4 ? end + 1 : at + Math.ceil((end - at + 1) / 8) * 8;
    if (kept < 0 || length > MAX_PATH_BYTES || next > window.length) return undefined;
    window.copy(this.#path, kept, dropped.end, end);
    this.#length = length;
    if (window.readUInt32BE(at + MODE_AT) === GITLINK) this.#gitlinks.push(this.#path.toString("utf8", 0, length));
    return next;
  }
}

/** Reads how much of the path before is dropped (gitformat-pack, "offset encoding"); undefined when it is not complete. */
function readOffset(window: Buffer, start: number): { readonly value: number; readonly end: number } | undefined {
  let value = -1;
  for (let at = start; at < window.length; at++) {
    const byte = window.readUInt8(at);
    value = (value + 1) * 128 + (byte & 0x7f);
    if ((byte & 0x80) === 0) return { value, end: at + 1 };
  }
  return undefined;
}
