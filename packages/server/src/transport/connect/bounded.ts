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
import { assertBinaryBudget, assertJsonBudget } from "@devtool/schema";
import { connectErrorFrom } from "./errors.ts";

/** The compressions that a request may have. */
export const COMPRESSIONS: Compression[] = [compressionGzip, compressionBrotli];

/** Timers of Node do not reach further: one that is set for later fires at once. */
const MAX_TIMEOUT_MS = 2 ** 31 - 1;

/**
 * Bounds the requests of a handler before they are decoded: what takes few bytes on the wire can take hundreds of times as
 * many in memory. A deadline that is further away than a timer reaches (24 days) counts as none.
 */
export function boundedHandler(handler: UniversalHandler, maxBytes: number): UniversalHandler {
  const handle = async (request: UniversalServerRequest): Promise<UniversalServerResponse> => {
    if (request.method === "GET" && !hasReadableQuery(request.url)) return unreadableQuery();
    assertByteStreamRequest(request);
    const body = boundedBody(request.body, { header: request.header, input: handler.method.input, maxBytes });
    return handler({ ...request, header: withoutFarDeadline(request.header), body });
  };
  return Object.assign(handle, handler);
}

interface BodyBounds {
  readonly header: Headers;
  readonly input: DescMessage;
  readonly maxBytes: number;
}

/** The same bytes; what is too much is an error where they are read. Bytes that are no frames are the library's to refuse. */
async function* boundedBody(body: AsyncIterable<Uint8Array>, bounds: BodyBounds): AsyncIterable<Uint8Array> {
  const { header, maxBytes } = bounds;
  const type = mediaTypeOf(header);
  // Both are frames with messages in them; Connect without a stream is a message.
  const isGrpc = type.startsWith("application/grpc");
  if (isGrpc || type.startsWith("application/connect+")) {
    const check = checkedEnvelopes(bounds, header.get(isGrpc ? "grpc-encoding" : "connect-content-encoding"));
    yield* pipe(body, transformSplitEnvelope(maxBytes), check, transformJoinEnvelopes());
    return;
  }
  const bytes = await readAllBytes(body, maxBytes);
  await assertBudget(bytes, bounds, header.get("content-encoding"));
  yield bytes;
}

function mediaTypeOf(header: Headers): string {
  const [type = ""] = (header.get("content-type") ?? "").toLowerCase().split(";");
  return type.trim();
}

function checkedEnvelopes(bounds: BodyBounds, encoding: string | null) {
  return async function* (envelopes: AsyncIterable<EnvelopedMessage>): AsyncIterable<EnvelopedMessage> {
    for await (const envelope of envelopes) {
      const isCompressed = (envelope.flags & compressedFlag) === compressedFlag;
      await assertBudget(envelope.data, bounds, isCompressed ? encoding : null);
      yield envelope;
    }
  };
}

async function assertBudget(
  bytes: Uint8Array,
  { header, input, maxBytes }: BodyBounds,
  encoding: string | null,
): Promise<void> {
  const compression = COMPRESSIONS.find(({ name }) => name === encoding);
  const message = compression ? await compression.decompress(bytes, maxBytes) : bytes;
  try {
    if (mediaTypeOf(header).endsWith("json")) assertJsonBudget(new TextDecoder().decode(message));
    else assertBinaryBudget(input, message);
  } catch (reason) {
    throw connectErrorFrom(reason);
  }
}

/** Whether a query is in base64 where it says so: for what is not, the library answers that the server failed (ERR-1). */
function hasReadableQuery(url: string): boolean {
  const query = new URL(url).searchParams;
  if (query.get("base64") !== "1") return true;
  try {
    base64Decode(query.get("message") ?? "");
    return true;
  } catch {
    return false;
  }
}

function unreadableQuery(): UniversalServerResponse {
  const error = new ConnectError('parameter "message" is not valid base64', Code.InvalidArgument);
  const header = new Headers({ "content-type": "application/json" });
  return { status: 400, header, body: createAsyncIterable([errorToJsonBytes(error, undefined)]) };
}

function withoutFarDeadline(header: Headers): Headers {
  const kept = new Headers(header);
  const [, count, unit = ""] = /^(\d+)([HMSmun])$/.exec(header.get("grpc-timeout") ?? "") ?? [];
  if (Number(count) * (UNIT_MS[unit] ?? 0) > MAX_TIMEOUT_MS) kept.delete("grpc-timeout");
  if (Number(header.get("connect-timeout-ms")) > MAX_TIMEOUT_MS) kept.delete("connect-timeout-ms");
  return kept;
}

/** The units of `grpc-timeout` in milliseconds. */
const UNIT_MS: Readonly<Record<string, number>> = { H: 3_600_000, M: 60_000, S: 1000, m: 1, u: 1e-3, n: 1e-6 };
