import type { Descriptor } from "../descriptor.ts";
import { Pace } from "../pace.ts";
import { HEAD_BYTES, isText } from "./read-file-kind.ts";

/**
 * The maximum number of bytes of one file in a result: about what a model can
 * use.
 */
export const MAX_TEXT_BYTES: number = 256 * 1024;

/** The maximum number of characters of one line in a result. */
const MAX_LINE_LENGTH = 2000;

/** The maximum size, in bytes, of a file whose lines are counted to the end. */
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
  /** The maximum number of bytes. */
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
      return { case: "text", text: lines.format("some") };
    }
    // In a regular file, a short read means the end of the file.
    chunk =
      chunk.length < CHUNK_BYTES ? Buffer.alloc(0) : file.readNext(CHUNK_BYTES);
  }
  return { case: "text", text: lines.format("all") };
}

/** Collects the lines of a range from the chunks of a file. */
class LineCollector {
  readonly #range: LineRange;
  readonly #pieces: Buffer[] = [];
  #bytes = 0;
  /** The index of the current line. */
  #line = 0;
  /** The index of the line at which the maximum number of bytes was reached. */
  #cutAt: number | undefined;

  constructor(range: LineRange) {
    this.#range = range;
  }

  /**
   * Whether the range is complete, so that the rest of the file is only
   * counted.
   */
  get isFull(): boolean {
    return (
      this.#cutAt !== undefined ||
      this.#line >= this.#range.offset + this.#range.limit
    );
  }

  push(chunk: Buffer): void {
    for (let start = 0; start < chunk.length; ) {
      const newline = chunk.indexOf(NEWLINE, start);
      const end = newline < 0 ? chunk.length : newline + 1;
      if (this.#line >= this.#range.offset && !this.isFull) {
        const room = this.#range.maxBytes - this.#bytes;
        if (end - start > room) this.#cutAt = this.#line;
        const taken = chunk.subarray(start, Math.min(end, start + room));
        this.#pieces.push(taken);
        this.#bytes += taken.length;
      }
      if (newline >= 0) this.#line++;
      start = end;
    }
  }

  /**
   * Returns the lines of the range. `counted` says whether all lines of the
   * file were counted.
   */
  format(counted: "all" | "some"): string {
    const { offset, limit } = this.#range;
    const lines = Buffer.concat(this.#pieces).toString("utf8").split("\n");
    const shortened = lines.map((line) => {
      const surplus = line.length - MAX_LINE_LENGTH;
      return surplus <= 0
        ? line
        : `${line.slice(0, MAX_LINE_LENGTH)}[… ${surplus} more characters in this line]`;
    });
    const text = shortened.join("\n");
    const total = this.#line + 1;
    if (offset === 0 && total <= limit && this.#cutAt === undefined) {
      return text;
    }
    const shown =
      text.endsWith("\n") && total > offset + limit ? text.slice(0, -1) : text;
    const last =
      this.#cutAt === undefined
        ? Math.min(offset + limit, total)
        : this.#cutAt + 1;
    const of = counted === "all" ? String(total) : `more than ${total}`;
    const rest =
      this.#cutAt === undefined
        ? ""
        : `, cut after ${this.#bytes} bytes: read on with offset ${this.#cutAt}`;
    return `[lines ${offset + 1} to ${Math.max(last, offset)} of ${of}${rest}]\n${shown}`;
  }
}
