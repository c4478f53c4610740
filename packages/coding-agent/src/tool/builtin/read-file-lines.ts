import type { Descriptor } from "../descriptor.ts";
import { Pace } from "../pace.ts";
import { HEAD_BYTES, isText } from "./read-file-kind.ts";

/** So many bytes of one file are given at most: what a model can make use of. */
export const MAX_TEXT_BYTES: number = 256 * 1024;
/** So many characters of one line are given. */
const MAX_LINE_LENGTH = 2000;
/** Lines are counted to the end of files of at most this size. */
const MAX_COUNTED_BYTES = 64 * 1024 * 1024;
const CHUNK_BYTES = 256 * 1024;
const NEWLINE = 10;
const NOTHING = Buffer.alloc(0);

/** Which lines of a file to read, and how much of them. */
export interface LineRange {
  /** The first line, from 0. */
  readonly offset: number;
  readonly limit: number;
  readonly maxBytes: number;
}

/** Some lines of a file, or the first bytes of one that is no text. */
export type FileText =
  | { readonly case: "text"; readonly text: string }
  | { readonly case: "binary"; readonly head: Buffer; readonly bytes: number };

/** Reads lines of an open file of any size, as a model gets them: with a line of our own before them when they are not all. */
export async function readLines(file: Descriptor, range: LineRange, signal: AbortSignal): Promise<FileText> {
  const { size } = file.stat();
  const lines = new LineCollector(range);
  const pace = new Pace(signal);
  let chunk = file.readNext(CHUNK_BYTES);
  const head = chunk.subarray(0, HEAD_BYTES);
  if (!isText(head)) return { case: "binary", head, bytes: size };
  while (chunk.length > 0) {
    await pace.rest();
    lines.push(chunk);
    if (lines.isFull && size > MAX_COUNTED_BYTES) return { case: "text", text: lines.report("more") };
    // Less than was asked for is the end of a regular file.
    chunk = chunk.length < CHUNK_BYTES ? NOTHING : file.readNext(CHUNK_BYTES);
  }
  return { case: "text", text: lines.report("all") };
}

/** Takes the lines of a range out of the chunks of a file. */
class LineCollector {
  readonly #range: LineRange;
  readonly #pieces: Buffer[] = [];
  #bytes = 0;
  /** The line that is being read. */
  #line = 0;
  /** The line in which the bytes ran out. */
  #cutAt: number | undefined;

  constructor(range: LineRange) {
    this.#range = range;
  }

  /** Tells whether what follows is counted only. */
  get isFull(): boolean {
    return this.#cutAt !== undefined || this.#line >= this.#range.offset + this.#range.limit;
  }

  push(chunk: Buffer): void {
    for (let start = 0; start < chunk.length; ) {
      const newline = chunk.indexOf(NEWLINE, start);
      const end = newline < 0 ? chunk.length : newline + 1;
      if (this.#line >= this.#range.offset && !this.isFull) this.#take(chunk.subarray(start, end));
      if (newline >= 0) this.#line++;
      start = end;
    }
  }

  /** The lines, with what to know of the rest; `seen` says whether all lines of the file were counted. */
  report(seen: "all" | "more"): string {
    const { offset, limit } = this.#range;
    const text = shortened(Buffer.concat(this.#pieces).toString("utf8"));
    const total = this.#line + 1;
    if (offset === 0 && total <= limit && this.#cutAt === undefined) return text;
    const shown = text.endsWith("\n") && total > offset + limit ? text.slice(0, -1) : text;
    const last = this.#cutAt === undefined ? Math.min(offset + limit, total) : this.#cutAt + 1;
    const of = seen === "all" ? String(total) : `more than ${total}`;
    const rest =
      this.#cutAt === undefined ? "" : `, cut after ${this.#bytes} bytes: read on with offset ${this.#cutAt}`;
    return `[lines ${offset + 1} to ${Math.max(last, offset)} of ${of}${rest}]\n${shown}`;
  }

  #take(line: Buffer): void {
    const room = this.#range.maxBytes - this.#bytes;
    if (line.length > room) this.#cutAt = this.#line;
    const taken = line.subarray(0, room);
    this.#pieces.push(taken);
    this.#bytes += taken.length;
  }
}

function shortened(text: string): string {
  if (text.length <= MAX_LINE_LENGTH) return text;
  const lines = text.split("\n");
  return lines.map((line) => (line.length <= MAX_LINE_LENGTH ? line : cutLine(line))).join("\n");
}

function cutLine(line: string): string {
  return `${line.slice(0, MAX_LINE_LENGTH)}[… ${line.length - MAX_LINE_LENGTH} more characters in this line]`;
}
