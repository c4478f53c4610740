/** The maximum size of a message of an MCP server, in bytes: 8 MiB. */
export const MAX_MESSAGE_BYTES: number = 8 * 1024 * 1024;

const NEWLINE = 10;

/** Splits a stream of bytes into lines. It buffers at most one unfinished line, whose size is bounded. */
export class LineReader {
  readonly #maxBytes: number;
  #parts: Buffer[] = [];
  #length = 0;

  constructor(maxBytes: number = MAX_MESSAGE_BYTES) {
    this.#maxBytes = maxBytes;
  }

  /** Returns the lines that a chunk completes, without their line endings. Throws for a line that is too long. */
  push(chunk: Buffer): string[] {
    const lines: string[] = [];
    let from = 0;
    for (let end = chunk.indexOf(NEWLINE); end >= 0; end = chunk.indexOf(NEWLINE, from)) {
      this.#buffer(chunk.subarray(from, end));
      lines.push(Buffer.concat(this.#parts, this.#length).toString("utf8").replace(/\r$/, ""));
      this.#parts = [];
      this.#length = 0;
      from = end + 1;
    }
    if (from < chunk.length) this.#buffer(chunk.subarray(from));
    return lines;
  }

  #buffer(part: Buffer): void {
    this.#length += part.length;
    if (this.#length > this.#maxBytes) {
      this.#parts = [];
      throw new Error(`it wrote a line of more than ${this.#maxBytes} bytes`);
    }
    this.#parts.push(part);
  }
}
