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
const NEWLINE = 0x0a;

/**
 * Returns streams that keep the digits of integer ids beyond 2^53, so that a
 * client finds the answer to its request. In between they are strings.
 *
 * @param mark how these strings begin: a text that no one can guess
 */
export function withExactIds(
  { input, output }: ByteStreams,
  mark: string,
): ByteStreams {
  const marked = new RegExp(`"${mark}(-?\\d+)"`, "g");
  let line: Uint8Array[] = [];
  const incoming = new TransformStream<Uint8Array, Uint8Array>({
    transform(chunk, controller) {
      const end = chunk.lastIndexOf(NEWLINE) + 1;
      if (end > 0) {
        const text = Buffer.concat([...line, chunk.subarray(0, end)]);
        line = [];
        controller.enqueue(markIds(text, mark));
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
      const isMarked = bytes.includes(mark);
      controller.enqueue(
        isMarked ? Buffer.from(bytes.toString().replace(marked, "$1")) : chunk,
      );
    },
  });
  outgoing.readable.pipeTo(output).catch(() => undefined);
  return { input: input.pipeThrough(incoming), output: outgoing.writable };
}

/** Returns whole lines with their long ids as strings behind a mark. */
function markIds(lines: Buffer, mark: string): Uint8Array {
  const text = lines.toString();
  const changed = text.replaceAll(LONG_ID, (found, key: string, id: string) =>
    Number.isSafeInteger(Number(id)) ? found : `${key}"${mark}${id}"`,
  );
  return changed === text ? lines : Buffer.from(changed);
}
