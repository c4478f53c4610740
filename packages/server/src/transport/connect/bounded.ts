import type { DescMessage } from "@bufbuild/protobuf";
import { base64Decode } from "@bufbuild/protobuf/wire";
import { Code, ConnectError } from "@connectrpc/connect";
import {
  assertByteStreamRequest,
  type Compression,
  compressedFlag,
  createAsyncIterable,
  type EnvelopedMessage,
  pipe,
  readAllBytes,
  transformJoinEnvelopes,
  transformSplitEnvelope,
  type UniversalHandler,
  type UniversalServerRequest,
  type UniversalServerResponse,
} from "@connectrpc/connect/protocol";
import { errorToJsonBytes } from "@connectrpc/connect/protocol-connect";
import { compressionBrotli, compressionGzip } from "@connectrpc/connect-node";
import {
  assertExactJson,
  assertJsonBudget,
  assertPlainIntegers,
} from "@devtool/schema";
import { assertBinaryBudget } from "./binary-budget.ts";
import { camelCaseReader } from "./camel-case-reader.ts";
import { connectErrorFrom } from "./errors.ts";

/** The compressions that are accepted in requests. */
export const COMPRESSIONS: Compression[] = [compressionGzip, compressionBrotli];

/**
 * The longest delay of a timer in Node, about 24 days.
 *
 * A timer with a longer one fires at once.
 */
const MAX_TIMEOUT_MS = 2 ** 31 - 1;

/** The units of `grpc-timeout` in milliseconds. */
const UNIT_MS: Readonly<Record<string, number>> = {
  H: 3_600_000,
  M: 60_000,
  S: 1000,
  m: 1,
  u: 1e-3,
  n: 1e-6,
};

/**
 * Wraps a handler so that each request message is checked before it is decoded:
 * few bytes on the wire can take hundreds of times as many in memory.
 *
 * It also ignores deadlines that are too far away for a timer, and answers
 * unreadable GET queries with an error of the client.
 */
export function boundedHandler(
  handler: UniversalHandler,
  maxBytes: number,
): UniversalHandler {
  const checks = {
    input: handler.method.input,
    maxBytes,
    respell: camelCaseReader(handler.method.input),
  };
  const handle = async (
    request: UniversalServerRequest,
  ): Promise<UniversalServerResponse> => {
    const refusal =
      request.method === "GET" ? refuseUnreadableQuery(request.url) : undefined;
    if (refusal) return refusal;
    assertByteStreamRequest(request);
    const body = boundedBody(request.body, request.header, checks);
    const header = new Headers(request.header);
    // The body may become longer, by names that are written in another way.
    header.delete("content-length");
    const [, count, unit = ""] =
      /^(\d+)([HMSmun])$/.exec(header.get("grpc-timeout") ?? "") ?? [];
    if (Number(count) * (UNIT_MS[unit] ?? 0) > MAX_TIMEOUT_MS) {
      header.delete("grpc-timeout");
    }
    if (Number(header.get("connect-timeout-ms")) > MAX_TIMEOUT_MS) {
      header.delete("connect-timeout-ms");
    }
    return handler({ ...request, header, body });
  };
  return Object.assign(handle, handler);
}

/** How the messages of a request are checked. */
interface MessageChecks {
  readonly input: DescMessage;
  readonly maxBytes: number;
  /** Respells the fields of a JSON text to the names that the library reads. */
  readonly respell: (text: string) => string;
}

/**
 * Yields the body of a request, with the names that the library reads. Throws
 * where a message is too large or would take too much memory.
 *
 * Bytes that are not valid frames pass: the library refuses them.
 */
async function* boundedBody(
  body: AsyncIterable<Uint8Array>,
  header: Headers,
  { input, maxBytes, respell }: MessageChecks,
): AsyncIterable<Uint8Array> {
  const [type = ""] = (header.get("content-type") ?? "")
    .toLowerCase()
    .split(";");
  const mediaType = type.trim();
  const checked = async (
    bytes: Uint8Array,
    encoding: string | null,
  ): Promise<Uint8Array> => {
    const compression = COMPRESSIONS.find(({ name }) => name === encoding);
    const message = compression
      ? await compression.decompress(bytes, maxBytes)
      : bytes;
    try {
      if (!mediaType.endsWith("json")) {
        assertBinaryBudget(input, message);
        return bytes;
      }
      const text = new TextDecoder().decode(message);
      assertJsonBudget(text);
      assertExactJson(text);
      assertPlainIntegers(input, text);
      const respelled = respell(text);
      if (respelled === text) return bytes;
      const written = new TextEncoder().encode(respelled);
      return compression ? await compression.compress(written) : written;
    } catch (reason) {
      throw connectErrorFrom(reason);
    }
  };
  const isGrpc = mediaType.startsWith("application/grpc");
  if (!isGrpc && !mediaType.startsWith("application/connect+")) {
    // A unary call of Connect: the body is a single message without an
    // envelope.
    const bytes = await readAllBytes(body, maxBytes);
    return yield await checked(bytes, header.get("content-encoding"));
  }
  const encoding = header.get(
    isGrpc ? "grpc-encoding" : "connect-content-encoding",
  );
  const checkEach = async function* (
    envelopes: AsyncIterable<EnvelopedMessage>,
  ): AsyncIterable<EnvelopedMessage> {
    for await (const envelope of envelopes) {
      const isCompressed = (envelope.flags & compressedFlag) === compressedFlag;
      const data = await checked(envelope.data, isCompressed ? encoding : null);
      yield { ...envelope, data };
    }
  };
  yield* pipe(
    body,
    transformSplitEnvelope(maxBytes),
    checkEach,
    transformJoinEnvelopes(),
  );
}

/**
 * Returns the answer to a query that claims to be base64 and is not; undefined
 * for any other query.
 *
 * The library itself would report an error of the server (ERR-1).
 */
function refuseUnreadableQuery(
  url: string,
): UniversalServerResponse | undefined {
  const query = new URL(url).searchParams;
  if (query.get("base64") !== "1") return undefined;
  try {
    base64Decode(query.get("message") ?? "");
    return undefined;
  } catch {
    const error = new ConnectError(
      'parameter "message" is not valid base64',
      Code.InvalidArgument,
    );
    const header = new Headers({ "content-type": "application/json" });
    return {
      status: 400,
      header,
      body: createAsyncIterable([errorToJsonBytes(error, undefined)]),
    };
  }
}
