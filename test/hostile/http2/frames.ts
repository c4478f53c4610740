import { once } from "node:events";
import { connect } from "node:net";

/** Header fields in order. A name may occur twice. */
export type Fields = readonly (readonly [name: string, value: string])[];

/** The frame types that are written or read here (RFC 9113, section 6). */
const TYPE = {
  data: 0,
  headers: 1,
  reset: 3,
  settings: 4,
  ping: 6,
  goaway: 7,
  windowUpdate: 8,
  continuation: 9,
} as const;

const HEAD_BYTES = 9;

/** The flags of frames. */
export const END_STREAM = 1;
export const END_HEADERS = 4;

interface Content {
  readonly flags?: number;
  readonly payload?: Buffer;
}

/** One frame, as bytes. */
export function frame(
  type: keyof typeof TYPE,
  stream: number,
  content: Content = {},
): Buffer {
  const { flags = 0, payload = Buffer.alloc(0) } = content;
  const head = Buffer.alloc(HEAD_BYTES);
  head.writeUIntBE(payload.length, 0, 3);
  head[3] = TYPE[type];
  head[4] = flags;
  head.writeUInt32BE(stream, 5);
  return Buffer.concat([head, payload]);
}

/**
 * Returns the frame that begins a stream. With `END_STREAM` it is the whole
 * request.
 */
export function headers(
  stream: number,
  fields: Fields,
  flags = END_STREAM | END_HEADERS,
): Buffer {
  return frame("headers", stream, { flags, payload: fieldBlock(fields) });
}

/**
 * Encodes header fields in HPACK, each as a literal without indexing (RFC 7541,
 * section 6.2.2).
 */
export function fieldBlock(fields: Fields): Buffer {
  return Buffer.concat(
    fields.flatMap(([name, value]) => [
      Buffer.from([0]),
      literal(name),
      literal(value),
    ]),
  );
}

function literal(text: string): Buffer {
  const bytes = Buffer.from(text, "latin1");
  if (bytes.length < 127) {
    return Buffer.concat([Buffer.from([bytes.length]), bytes]);
  }
  const length = [127];
  let rest = bytes.length - 127;
  for (; rest > 127; rest >>= 7) length.push((rest & 127) | 128);
  return Buffer.concat([Buffer.from([...length, rest]), bytes]);
}

const PREFACE = Buffer.concat([
  Buffer.from("PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n"),
  frame("settings", 0),
]);

/**
 * Sends frames over a new connection. Returns the status of the response;
 * `refused` when the stream or connection is closed instead.
 */
export async function statusOf(
  port: number,
  ...frames: readonly Buffer[]
): Promise<string> {
  for await (const { type, payload } of answers(port, frames)) {
    if (type === TYPE.headers) return statusIn(payload);
    if (type === TYPE.reset || type === TYPE.goaway) return "refused";
  }
  return "refused";
}

/** Sends frames, and waits until the server closes the connection. */
export async function endAfter(
  port: number,
  ...frames: readonly Buffer[]
): Promise<void> {
  for await (const { type } of answers(port, frames)) {
    if (type === TYPE.goaway) return;
  }
}

interface Frame {
  readonly type: number | undefined;
  readonly payload: Buffer;
}

async function* answers(
  port: number,
  frames: readonly Buffer[],
): AsyncIterable<Frame> {
  const socket = connect(port, "127.0.0.1");
  try {
    await once(socket, "connect");
    socket.write(Buffer.concat([PREFACE, ...frames]));
    let rest = Buffer.alloc(0);
    for await (const chunk of socket) {
      rest = Buffer.concat([rest, chunk]);
      for (let next = firstOf(rest); next; next = firstOf(rest)) {
        yield next;
        rest = rest.subarray(HEAD_BYTES + next.payload.length);
      }
    }
  } catch {
    // The server may close the connection while it is written to.
  } finally {
    socket.destroy();
  }
}

function firstOf(bytes: Buffer): Frame | undefined {
  if (bytes.length < HEAD_BYTES) return undefined;
  const end = HEAD_BYTES + bytes.readUIntBE(0, 3);
  return bytes.length < end
    ? undefined
    : { type: bytes[3], payload: bytes.subarray(HEAD_BYTES, end) };
}

/**
 * Returns the status at the start of a header block: from the static table (RFC
 * 7541, appendix A), Huffman-coded, or as digits.
 */
function statusIn(block: Buffer): string {
  const [first = 0] = block;
  if (block.subarray(1, 4).toString("hex") === HUFFMAN_401) return "401";
  return (
    INDEXED[first] ??
    /\d{3}/.exec(block.subarray(0, 5).toString("latin1"))?.[0] ??
    "unreadable"
  );
}

const HUFFMAN_401 = "826801";

const INDEXED: Readonly<Record<number, string>> = {
  136: "200",
  137: "204",
  139: "304",
  140: "400",
  141: "404",
  142: "500",
};
