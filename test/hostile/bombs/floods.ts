import { connect, type Socket } from "node:net";

const PREFACE = Buffer.concat([
  Buffer.from("PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n"),
  frame(4, 0, 0, Buffer.alloc(0)),
]);
const HEADERS = 1;
const RST_STREAM = 3;
const GOAWAY = 7;
const CONTINUATION = 9;
const END_STREAM = 1;
const END_HEADERS = 4;
/** RST_STREAM with the code CANCEL. */
const CANCEL = Buffer.from([0, 0, 0, 8]);

/** Something that a client keeps sending, on one connection. */
export interface Flood {
  readonly name: string;
  /** Makes what is sent, in pieces. */
  readonly pieces: (authority: string, token: string) => Iterable<Buffer>;
}

/**
 * Each of these must cost its sender the connection, or be answered with an
 * error.
 */
export const FLOODS: readonly Flood[] = [
  { name: "100,000 streams that are reset at once", pieces: rapidReset },
  { name: "a head that goes on and on", pieces: continuations },
  { name: "10,000 headers over HTTP/2", pieces: manyHeaders },
  { name: "10,000 headers over HTTP/1.1", pieces: manyHeaders1 },
];

/**
 * Sends a flood, as fast as it is taken, until the server has had enough of it.
 * Rejects when it never has.
 */
export async function sendFlood(
  flood: Flood,
  { url, token }: { readonly url: string; readonly token: string },
): Promise<void> {
  const { hostname, port, host } = new URL(url);
  const socket = connect(Number(port), hostname);
  const refused = Promise.withResolvers<void>();
  const answered: Buffer[] = [];
  socket.on("data", (chunk: Buffer) => {
    answered.push(chunk);
    if (isRefusal(Buffer.concat(answered))) refused.resolve();
  });
  socket.on("error", () => undefined).once("close", () => refused.resolve());
  // One wait at a time: a server that has refused may not read, and each wait
  // is a listener.
  let draining: Promise<void> | undefined;
  for (const piece of flood.pieces(host, token)) {
    if (socket.destroyed) break;
    if (socket.write(piece)) continue;
    draining ??= drained(socket).finally(() => {
      draining = undefined;
    });
    await Promise.race([draining, refused.promise]);
  }
  await refused.promise;
  socket.destroy();
}

/**
 * Whether a server said that it takes no more: the end of a stream or of the
 * session, or an error of HTTP/1.1.
 */
function isRefusal(answered: Buffer): boolean {
  if (answered.subarray(0, 5).toString("latin1") === "HTTP/") {
    return answered.subarray(9, 10).toString("latin1") === "4";
  }
  for (
    let at = 0;
    at + 9 <= answered.length;
    at += 9 + answered.readUIntBE(at, 3)
  ) {
    const type = answered.readUInt8(at + 3);
    if (type === RST_STREAM || type === GOAWAY) return true;
  }
  return false;
}

function drained(socket: Socket): Promise<void> {
  return new Promise((resolve) => socket.once("drain", resolve));
}

function* rapidReset(authority: string, token: string): Iterable<Buffer> {
  yield PREFACE;
  const head = headBlock(authority, token);
  for (let index = 0; index < 100_000; index++) {
    const stream = 1 + 2 * index;
    yield Buffer.concat([
      frame(HEADERS, END_HEADERS | END_STREAM, stream, head),
      frame(RST_STREAM, 0, stream, CANCEL),
    ]);
  }
}

function* continuations(authority: string, token: string): Iterable<Buffer> {
  yield PREFACE;
  yield frame(HEADERS, END_STREAM, 1, headBlock(authority, token));
  const more = Buffer.concat(
    Array.from({ length: 100 }, () => literal("x-more", "y".repeat(100))),
  );
  for (let index = 0; index < 100_000; index++) {
    yield frame(CONTINUATION, 0, 1, more);
  }
}

function* manyHeaders(authority: string, token: string): Iterable<Buffer> {
  yield PREFACE;
  const names = Array.from({ length: 10_000 }, (_, index) =>
    literal(`x-${index}`, "y"),
  );
  const head = Buffer.concat([headBlock(authority, token), ...names]);
  yield frame(HEADERS, END_STREAM, 1, head.subarray(0, 16_000));
  for (let at = 16_000; at < head.length; at += 16_000) {
    const isLast = at + 16_000 >= head.length;
    yield frame(
      CONTINUATION,
      isLast ? END_HEADERS : 0,
      1,
      head.subarray(at, at + 16_000),
    );
  }
}

function* manyHeaders1(authority: string, token: string): Iterable<Buffer> {
  const names = Array.from(
    { length: 10_000 },
    (_, index) => `x-${index}: y\r\n`,
  );
  const head = `GET /.well-known/agent-card.json HTTP/1.1\r\nhost: ${authority}\r\nauthorization: Bearer ${token}\r\n`;
  yield Buffer.from(`${head}${names.join("")}\r\n`);
}

/** A head in HPACK, with nothing that a table would have to keep. */
function headBlock(authority: string, token: string): Buffer {
  return Buffer.concat([
    literal(":method", "GET"),
    literal(":scheme", "http"),
    literal(":path", "/.well-known/agent-card.json"),
    literal(":authority", authority),
    literal("authorization", `Bearer ${token}`),
  ]);
}

/**
 * A literal header without indexing (RFC 7541, section 6.2.2); both texts have
 * less than 127 bytes.
 */
function literal(name: string, value: string): Buffer {
  return Buffer.concat([
    Buffer.from([0, name.length]),
    Buffer.from(name),
    Buffer.from([value.length]),
    Buffer.from(value),
  ]);
}

function frame(
  type: number,
  flags: number,
  stream: number,
  payload: Buffer,
): Buffer {
  const head = Buffer.alloc(9);
  head.writeUIntBE(payload.length, 0, 3);
  head.writeUInt8(type, 3);
  head.writeUInt8(flags, 4);
  head.writeUInt32BE(stream, 5);
  return Buffer.concat([head, payload]);
}
