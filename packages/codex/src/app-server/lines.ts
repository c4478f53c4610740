/** The maximum size of a message of the app-server, in bytes: 32 MiB, since items can hold images. */
export const MAX_MESSAGE_BYTES: number = 32 * 1024 * 1024;

const NEWLINE = 10;

/** Splits a stream of bytes into lines. It buffers at most one unfinished line, whose size is bounded. */
export class Lines {
  readonly #maxBytes: number;
  #parts: Buffer[] = [];
  #length = 0;

  constructor(maxBytes: number = MAX_MESSAGE_BYTES) {
    this.#maxBytes = maxBytes;
  }

  /** Returns the lines that a chunk completes. Throws for a line that is too long. */
  push(chunk: Buffer): string[] {
    const lines: string[] = [];
    let from = 0;
    for (let end = chunk.indexOf(NEWLINE); end >= 0; end = chunk.indexOf(NEWLINE, from)) {
      this.#keep(chunk.subarray(from, end));
      lines.push(Buffer.concat(this.#parts, this.#length).toString("utf8"));
      this.#parts = [];
      this.#length = 0;
      from = end + 1;
    }
    if (from < chunk.length) this.#keep(chunk.subarray(from));
    return lines;
  }

  #keep(part: Buffer): void {
    this.#length += part.length;
    if (this.#length > this.#maxBytes) throw new Error(`it wrote a message of more than ${this.#maxBytes} bytes`);
    this.#parts.push(part);
  }
}
