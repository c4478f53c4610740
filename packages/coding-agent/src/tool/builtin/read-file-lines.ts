import type { Descriptor } from "../descriptor.ts";
import { Pace } from "../pace.ts";
import { HEAD_BYTES, isText } from "./read-file-kind.ts";

/**
 * The maximum number of bytes of one file in a result: about what a model can
 * use.
 */
export const MAX_TEXT_BYTES: number = 256 * 1024;

/** The maximum number of characters (code points) of one line in a result. */
const MAX_LINE_LENGTH = 2000;

/** The number of bytes of a line that are kept: up to four per character. */
const KEPT_LINE_BYTES = 4 * MAX_LINE_LENGTH;

/**
 * The maximum size, in bytes, of a file whose lines are counted to the end, and
 * of a line whose characters are.
 */
const MAX_COUNTED_BYTES = 64 * 1024 * 1024;

/** The number of bytes that one read asks for. */
const CHUNK_BYTES = 256 * 1024;
const NEWLINE = 10;

/** A range of lines in a file. */
export interface LineRange {
  /** The index of the first line, counted from 0. */
  readonly offset: number;
  /** The maximum number of lines. */
  readonly limit: number;
  /** The maximum number of bytes. One line is given even if it is longer. */
  readonly maxBytes: number;
}

/** Lines of a text file, or the beginning and size of a binary file. */
export type FileText =
  | { readonly case: "text"; readonly text: string }
  | { readonly case: "binary"; readonly head: Buffer; readonly bytes: number };

/**
 * Reads a range of lines from an open file of any size.
 *
 * If these are not all lines of the file, the text begins with a line that says
 * which ones they are.
 */
export async function readLines(
  file: Descriptor,
  range: LineRange,
  signal: AbortSignal,
): Promise<FileText> {
  const { size } = file.stat();
  const lines = new LineCollector(range);
  const pace = new Pace(signal);
  let chunk = file.readNext(CHUNK_BYTES);
  const head = chunk.subarray(0, HEAD_BYTES);
  if (!isText(head)) return { case: "binary", head, bytes: size };
  while (chunk.length > 0) {
    await pace.rest();
    lines.push(chunk);
    if (lines.isFull && size > MAX_COUNTED_BYTES) {
      return { case: "text", text: lines.format("more than ") };
    }
    // In a regular file, a short read means the end of the file.
    chunk =
      chunk.length < CHUNK_BYTES ? Buffer.alloc(0) : file.readNext(CHUNK_BYTES);
  }
  return { case: "text", text: lines.format("") };
}

/** Stands before a number that was not counted to the end. */
type More = "" | "more than ";

/** Collects the lines of a range from the chunks of a file. */
class LineCollector {
  readonly #range: LineRange;
  readonly #lines: string[] = [];
  /** The number of bytes of the collected lines. */
  #bytes = 0;
  /** Whether a line of the range had no room. */
  #isCut = false;
  /** The index of the current line. */
  #line = 0;
  /** Whether the current line has bytes. */
  #isBegun = false;
  /** The beginning of the current line, if it is in the range. */
  #current = new LineStart();

  constructor(range: LineRange) {
    this.#range = range;
  }

  /**
   * Whether the range is complete, so that the rest of the file is only
   * counted.
   */
  get isFull(): boolean {
    return (
      this.#isCut ||
      this.#line >= this.#range.offset + this.#range.limit ||
      this.#current.bytes > MAX_COUNTED_BYTES
    );
  }

  push(chunk: Buffer): void {
    for (let start = 0; start < chunk.length; ) {
      const newline = chunk.indexOf(NEWLINE, start);
      const end = newline < 0 ? chunk.length : newline;
      if (this.#isWanted) this.#current.push(chunk.subarray(start, end));
      this.#isBegun = newline < 0;
      if (newline >= 0) {
        if (this.#isWanted) this.#take("");
        this.#line++;
      }
      start = end + 1;
    }
  }

  /**
   * Returns the lines of the range. `more` is not empty when the file was not
   * read to its end.
   */
  format(more: More): string {
    const { offset } = this.#range;
    if (this.#isBegun && this.#isWanted) {
      this.#take(more);
      this.#isCut ||= more !== "";
    }
    const total = this.#line + (this.#isBegun ? 1 : 0);
    const last = offset + this.#lines.length;
    if (last === offset && last > 0) {
      return `[the file has ${total} ${total === 1 ? "line" : "lines"}: none at offset ${offset}]`;
    }
    const isEnd = last >= total && more === "";
    const text = this.#lines.join("\n");
    const whole = isEnd && !this.#isBegun && total > 0 ? `${text}\n` : text;
    if (isEnd && offset === 0) return whole;
    const rest = this.#isCut
      ? `, cut after ${this.#bytes} bytes: read on with offset ${last}`
      : "";
    return `[lines ${offset + 1} to ${last} of ${more}${total}${rest}]\n${whole}`;
  }

  /** Whether the current line belongs to the range. */
  get #isWanted(): boolean {
    const { offset, limit } = this.#range;
    return !this.#isCut && this.#line >= offset && this.#line < offset + limit;
  }

  /**
   * Adds the current line, if there is room for it. The first one always has
   * room, so that reading on makes progress.
   */
  #take(more: More): void {
    const line = this.#current.format(more);
    this.#current = new LineStart();
    const bytes = Buffer.byteLength(line) + 1;
    if (this.#lines.length > 0 && this.#bytes + bytes > this.#range.maxBytes) {
      this.#isCut = true;
      return;
    }
    this.#lines.push(line);
    this.#bytes += bytes;
  }
}

/** The beginning of a line, and the number of its characters. */
class LineStart {
  readonly #kept: Buffer[] = [];
  #keptBytes = 0;
  #characters = 0;
  /** The number of bytes of the line so far. */
  bytes = 0;

  push(piece: Buffer): void {
    const kept = piece.subarray(0, KEPT_LINE_BYTES - this.#keptBytes);
    this.#kept.push(kept);
    this.#keptBytes += kept.length;
    this.bytes += piece.length;
    // In UTF-8, the bytes of a character after its first one are 10xxxxxx.
    for (const byte of piece) {
      if ((byte & 0xc0) !== 0x80) this.#characters++;
    }
  }

  /** Returns the line, or its beginning and how much is missing. */
  format(more: More): string {
    const text = Buffer.concat(this.#kept).toString("utf8");
    const surplus = this.#characters - MAX_LINE_LENGTH;
    if (surplus <= 0) return text;
    const shown = [...text].slice(0, MAX_LINE_LENGTH).join("");
    return `${shown}[… ${more}${surplus} more characters in this line]`;
  }
}
