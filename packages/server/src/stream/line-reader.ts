const NEWLINE = 10;

/**
 * Splits the output of a program into lines. Buffers at most one unfinished
 * line, up to a maximum size.
 */
export class LineReader {
  readonly #maxBytes: number;
  #parts: Uint8Array[] = [];
  #length = 0;

  /** @param maxBytes the maximum size of a line in bytes */
  constructor(maxBytes: number) {
    this.#maxBytes = maxBytes;
  }

  /**
   * Yields the lines that a chunk completes, without their line endings.
   *
   * Throws an `Error` for a line that is too long, finished or not, with a
   * message in which "it" is the program.
   */
  *push(chunk: Uint8Array): Generator<string> {
    let from = 0;
    for (
      let end = chunk.indexOf(NEWLINE);
      end >= 0;
      end = chunk.indexOf(NEWLINE, from)
    ) {
      this.#buffer(chunk.subarray(from, end));
      const line = Buffer.concat(this.#parts, this.#length)
        .toString("utf8")
        .replace(/\r$/, "");
      this.#parts = [];
      this.#length = 0;
      from = end + 1;
      yield line;
    }
    if (from < chunk.length) this.#buffer(chunk.subarray(from));
  }

  #buffer(part: Uint8Array): void {
    this.#length += part.length;
    if (this.#length > this.#maxBytes) {
      this.#parts = [];
      throw new Error(`it wrote a line of more than ${this.#maxBytes} bytes`);
    }
    this.#parts.push(part);
  }
}
