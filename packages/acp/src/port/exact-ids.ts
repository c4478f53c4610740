/** The streams of an ACP connection: one JSON object a line. */
export interface ByteStreams {
  readonly output: WritableStream<Uint8Array>;
  readonly input: ReadableStream<Uint8Array>;
}

/**
 * A key with an integer that JavaScript may round. Within a JSON string its
 * quotes would be escaped.
 */
const LONG_ID = /("(?:id|requestId)"\s*:\s*)(-?\d{16,})(?=\s*[,}])/g;
/** How such an id begins as a string, in JSON. */
const MARK = String.raw`\u0000int:`;
const MARKED = /("(?:id|requestId)":)"\\u0000int:(-?\d+)"/g;
const NEWLINE = 0x0a;

/**
 * Returns streams that keep the digits of integer ids beyond 2^53, so that a
 * client finds the answer to its request. In between they are strings.
 */
export function withExactIds({ input, output }: ByteStreams): ByteStreams {
  let line: Uint8Array[] = [];
  const incoming = new TransformStream<Uint8Array, Uint8Array>({
    transform(chunk, controller) {
      const end = chunk.lastIndexOf(NEWLINE) + 1;
      if (end > 0) {
        const text = Buffer.concat([...line, chunk.subarray(0, end)]);
        line = [];
        controller.enqueue(markIds(text));
      }
      if (end < chunk.length) line.push(chunk.subarray(end));
    },
    flush(controller) {
      if (line.length > 0) controller.enqueue(Buffer.concat(line));
    },
  });
  const outgoing = new TransformStream<Uint8Array, Uint8Array>({
    transform(chunk, controller) {
      const bytes = Buffer.from(chunk);
      const isMarked = bytes.includes(MARK);
      controller.enqueue(
        isMarked
          ? Buffer.from(bytes.toString().replace(MARKED, "$1$2"))
          : chunk,
      );
    },
  });
  outgoing.readable.pipeTo(output).catch(() => undefined);
  return { input: input.pipeThrough(incoming), output: outgoing.writable };
}

/** Returns whole lines with their long ids as strings behind a mark. */
function markIds(lines: Buffer): Uint8Array {
  const text = lines.toString();
  const changed = text.replaceAll(LONG_ID, (found, key: string, id: string) =>
    Number.isSafeInteger(Number(id)) ? found : `${key}"${MARK}${id}"`,
  );
  return changed === text ? lines : Buffer.from(changed);
}
