import { markLongIds, unmarkLongIds } from "@devtool/internal/long-ids";

/** The streams of an ACP connection: one JSON object a line. */
export interface ByteStreams {
  readonly output: WritableStream<Uint8Array>;
  readonly input: ReadableStream<Uint8Array>;
}

const NEWLINE = 0x0a;

/**
 * Returns streams that keep the digits of ids beyond 2^53, so that a client
 * finds the answer to its request. In between they are strings.
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
      const text = Buffer.from(chunk).toString();
      const changed = unmarkLongIds(text);
      controller.enqueue(changed === text ? chunk : Buffer.from(changed));
    },
  });
  outgoing.readable.pipeTo(output).catch(() => undefined);
  return { input: input.pipeThrough(incoming), output: outgoing.writable };
}

/** Returns whole lines with their long ids marked. */
function markIds(lines: Buffer): Uint8Array {
  const text = lines.toString();
  const changed = text.split("\n").map(markLongIds).join("\n");
  return changed === text ? lines : Buffer.from(changed);
}
