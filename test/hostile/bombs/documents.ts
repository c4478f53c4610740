import { gzipSync } from "node:zlib";
import { framed } from "../frames.ts";

/** A request whose body takes far more to read than to send. */
export interface Bomb {
  readonly name: string;
  readonly client: "http1" | "http2";
  readonly path: string;
  readonly type: string;
  readonly headers: Readonly<Record<string, string>>;
  readonly body: Uint8Array;
}

const MEGABYTE = 1024 * 1024;

/** The `metadata` of a message, as JSON. */
const JSON_BOMBS: ReadonlyMap<string, () => string> = new Map([
  ["100,000 levels", () => "[".repeat(100_000) + "]".repeat(100_000)],
  ["1,000,000 values", () => `[${"{},".repeat(999_999)}{}]`],
  ["a Struct of 97 times its size", () => `[${"{},".repeat(299_999)}{}]`],
  ["a string of 16 MB", () => `"${"x".repeat(16 * MEGABYTE)}"`],
]);

/** The same as a `google.protobuf.Value` in binary. */
const BINARY_BOMBS: ReadonlyMap<string, () => Buffer> = new Map([
  ["100,000 levels", () => nested(100_000)],
  ["1,000,000 values", () => listOf(1_000_000)],
  ["a Struct of 97 times its size", () => listOf(300_000)],
  ["a string of 16 MB", () => field(3, Buffer.alloc(16 * MEGABYTE, "x"))],
]);

/** Every bomb over every binding that can carry it. */
export function documentBombs(): Bomb[] {
  return [
    ...jsonBombs(JSON_BOMBS),
    ...binaryBombs(BINARY_BOMBS),
    ...gzipBombs(),
  ];
}

/**
 * The same documents with next to nothing in the place of the bomb: what a
 * server takes.
 */
export function harmlessDocuments(): Bomb[] {
  return [
    ...jsonBombs(new Map([["two values", () => "[{},{}]"]])),
    ...binaryBombs(new Map([["two values", () => listOf(2)]])),
  ];
}

const JSON_BINDINGS: readonly (Omit<Bomb, "body"> & {
  readonly wrap: (metadata: string) => string;
})[] = [
  {
    ...http1("JSON-RPC of A2A 0.3", "/"),
    wrap: (metadata) => rpc("message/send", messageV03(metadata)),
  },
  {
    ...http1("JSON-RPC of A2A 1.0", "/"),
    headers: { "a2a-version": "1.0" },
    wrap: (metadata) => rpc("SendMessage", messageV1(metadata)),
  },
  {
    ...http1("HTTP+JSON of A2A 0.3", "/v1/message:send"),
    wrap: (metadata) => `{"message":${messageV1(metadata)}}`,
  },
  {
    ...http1("HTTP+JSON of A2A 1.0", "/message:send"),
    wrap: (metadata) => `{"message":${messageV1(metadata)}}`,
  },
  {
    ...http1("Connect with JSON", "/devtool.v1alpha.TaskService/SendMessage"),
    wrap: (metadata) => `{"message":${ownMessage(metadata)}}`,
  },
  {
    ...http1(
      "Connect streams with JSON",
      "/devtool.v1alpha.TaskService/StreamMessage",
    ),
    type: "application/connect+json",
    wrap: (metadata) => `{"request":{"message":${ownMessage(metadata)}}}`,
  },
];

const BINARY_BINDINGS: readonly Omit<Bomb, "body">[] = [
  {
    ...http1("Connect with bytes", "/devtool.v1alpha.TaskService/SendMessage"),
    type: "application/proto",
  },
  {
    ...http1("gRPC-Web", "/devtool.v1alpha.TaskService/SendMessage"),
    type: "application/grpc-web+proto",
  },
  {
    ...http1("gRPC", "/devtool.v1alpha.TaskService/SendMessage"),
    client: "http2",
    type: "application/grpc+proto",
  },
];

function http1(name: string, path: string): Omit<Bomb, "body"> {
  return { name, client: "http1", path, type: "application/json", headers: {} };
}

function jsonBombs(bombs: ReadonlyMap<string, () => string>): Bomb[] {
  return JSON_BINDINGS.flatMap(({ wrap, ...binding }) =>
    [...bombs].map(([what, make]) => {
      const document = Buffer.from(wrap(`{"bomb":${make()}}`));
      const body = isFramed(binding) ? framed(document) : document;
      return { ...binding, name: `${what} over ${binding.name}`, body };
    }),
  );
}

function binaryBombs(bombs: ReadonlyMap<string, () => Buffer>): Bomb[] {
  return BINARY_BINDINGS.flatMap((binding) =>
    [...bombs].map(([what, make]) => {
      const document = requestWith(make());
      const body = isFramed(binding) ? framed(document) : document;
      return { ...binding, name: `${what} over ${binding.name}`, body };
    }),
  );
}

/**
 * Each binding gets 256 MB of zeros in some 250 KB, in frames that are marked
 * as compressed where it has frames.
 */
function gzipBombs(): Bomb[] {
  const zeros = gzipSync(Buffer.alloc(256 * MEGABYTE));
  return [...JSON_BINDINGS, ...BINARY_BINDINGS].map(
    ({ name, client, path, type, headers }) => {
      const encoding = type.startsWith("application/grpc")
        ? "grpc-encoding"
        : type.startsWith("application/connect")
          ? "connect-content-encoding"
          : "content-encoding";
      const frame = framed(zeros);
      frame[0] = 1;
      const body = isFramed({ type }) ? frame : zeros;
      return {
        name: `gzip over ${name}`,
        client,
        path,
        type,
        headers: { ...headers, [encoding]: "gzip" },
        body,
      };
    },
  );
}

function isFramed({ type }: Pick<Bomb, "type">): boolean {
  return type.includes("grpc") || type.includes("connect+");
}

function rpc(method: string, message: string): string {
  return `{"jsonrpc":"2.0","id":1,"method":"${method}","params":{"message":${message}}}`;
}

function messageV03(metadata: string): string {
  return `{"kind":"message","role":"user","messageId":"b","parts":[{"kind":"text","text":"text x"}],"metadata":${metadata}}`;
}

function messageV1(metadata: string): string {
  return `{"role":"ROLE_USER","messageId":"b","parts":[{"text":"text x"}],"metadata":${metadata}}`;
}

function ownMessage(metadata: string): string {
  return `{"messageId":"b","parts":[{"text":"text x"}],"metadata":${metadata}}`;
}

/** A `SendMessageRequest` whose message has one entry in its metadata. */
function requestWith(value: Buffer): Buffer {
  const part = field(1, Buffer.from("text x"));
  const entry = Buffer.concat([field(1, Buffer.from("bomb")), field(2, value)]);
  const metadata = field(1, entry);
  return field(
    1,
    Buffer.concat([
      field(1, Buffer.from("b")),
      field(3, part),
      field(METADATA, metadata),
    ]),
  );
}

/** The number of the field in `devtool.v1alpha.Message`. */
const METADATA = 7;

/** A `Value` that is a list of nulls: four bytes each. */
function listOf(count: number): Buffer {
  return field(6, Buffer.alloc(count * 4, Buffer.from([10, 2, 8, 0])));
}

/** A `Value` in lists in lists. */
function nested(levels: number): Buffer {
  const heads: Buffer[] = [];
  let size = 0;
  for (let level = 0; level < 2 * levels; level++) {
    const head = Buffer.concat([
      Buffer.from([level % 2 === 0 ? 10 : 50]),
      varint(size),
    ]);
    heads.push(head);
    size += head.length;
  }
  return Buffer.concat(heads.reverse());
}

function field(number: number, data: Buffer): Buffer {
  return Buffer.concat([
    Buffer.from([(number << 3) | 2]),
    varint(data.length),
    data,
  ]);
}

function varint(value: number): Buffer {
  const bytes: number[] = [];
  let rest = value;
  for (; rest >= 0x80; rest >>>= 7) bytes.push((rest & 0x7f) | 0x80);
  return Buffer.from([...bytes, rest]);
}
