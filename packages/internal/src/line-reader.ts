const NEWLINE = 0x0a;
const RETURN = 0x0d;
const BRACE = 0x7d;
const BRACKET = 0x5d;

/**
 * Splits the output of a program into lines. Buffers at most one unfinished
 * line, up to a maximum size.
 *
 * A program that ends its lines in carriage returns alone is read as well: one
 * behind a `}` or `]`, at the end of a chunk, ends a line.
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
      from = end + 1;
      yield this.#take();
    }
    if (from === chunk.length) return;
    this.#buffer(chunk.subarray(from));
    const [last, before] = [chunk.at(-1), chunk.at(-2)];
    if (last === RETURN && (before === BRACE || before === BRACKET)) {
      yield this.#take();
    }
  }

  /** Returns the unfinished line, and begins another. */
  #take(): string {
    const line = Buffer.concat(this.#parts, this.#length).toString("utf8");
    this.#parts = [];
    this.#length = 0;
    return line.replace(/\r$/, "");
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
