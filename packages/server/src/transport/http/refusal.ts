import type { Readable, Writable } from "node:stream";
import { finished } from "node:stream/promises";
import { create } from "@bufbuild/protobuf";
import type { JsonRpcError } from "@devtool/schema/a2a-v03";
import { Code } from "../../errors.ts";
import { GOODBYE_MS } from "./connections.ts";
import type { Refusal } from "./guard.ts";
import {
  finish,
  type HttpRequest,
  type HttpResponse,
  headerOf,
  pathOf,
} from "./route.ts";

/** The paths of Connect and gRPC: `/package.Service/Method`. */
const RPC_PATH = /^\/[a-z][\w.]*\.[A-Z]\w*\/[A-Z]\w*$/;

/** The paths of JSON-RPC of A2A. */
const JSON_RPC_PATH = /^\/(a2a\/?)?$/;

/**
 * The paths of Gemini CLI's own server, whose errors are a string under
 * `error`.
 */
const GEMINI_CLI_PATH =
  /^\/(executeCommand|listCommands|tasks|tasks\/metadata|tasks\/[^/]+\/metadata)$/;

/** The flag of the envelope that ends a stream of Connect. */
const END_OF_STREAM = 2;

/** The gRPC code for each HTTP status of a refusal, and its name in Connect. */
const CODES: Readonly<Record<Refusal["status"], readonly [Code, string]>> = {
  401: [Code.Unauthenticated, "unauthenticated"],
  403: [Code.PermissionDenied, "permission_denied"],
  503: [Code.Unavailable, "unavailable"],
};

/** A refusal in the form of a protocol. */
interface RefusalForm {
  /** Default: the HTTP status of the refusal. */
  readonly status?: number;
  readonly headers?: Readonly<Record<string, string>>;
  readonly body: string | Uint8Array;
}

/**
 * Refuses a request before a route handles it, in the error format of the
 * protocol that the request speaks: gRPC, gRPC-Web, Connect, JSON-RPC, or
 * HTTP+JSON of either version of A2A.
 *
 * The HTTP status and `WWW-Authenticate` stay wherever the protocol leaves room
 * for them.
 */
export async function refuse(
  request: HttpRequest,
  response: HttpResponse,
  refusal: Refusal,
): Promise<void> {
  const form = await formOf(request, refusal);
  response.statusCode = form.status ?? refusal.status;
  response.setHeader("content-type", "application/json");
  if (refusal.challenge !== undefined) {
    response.setHeader("www-authenticate", refusal.challenge);
  }
  for (const [name, value] of Object.entries(form.headers ?? {})) {
    response.setHeader(name, value);
  }
  if (request.httpVersionMajor === 1) {
    await closeAfter(request, response, form.body);
  } else {
    finish(response, form.body);
  }
}

/**
 * Sends a response over HTTP/1 and closes the connection once the client has
 * sent the rest of its request, at most `GOODBYE_MS` later (RFC 9112, section
 * 9.6). A connection that closes before is reset, and the client may not read
 * the response. Never rejects.
 */
async function closeAfter(
  request: HttpRequest,
  response: HttpResponse,
  body: string | Uint8Array,
): Promise<void> {
  response.setHeader("connection", "close");
  response.setHeader("content-length", Buffer.byteLength(body));
  const writable: Writable = response;
  writable.write(body);
  const rest: Readable = request;
  rest.resume();
  // Rejects when the client disconnects or the time is over, which end the
  // connection too.
  await finished(rest, {
    writable: false,
    signal: AbortSignal.timeout(GOODBYE_MS),
  }).catch(() => undefined);
  finish(response, "");
}

async function formOf(
  request: HttpRequest,
  refusal: Refusal,
): Promise<RefusalForm> {
  const type = headerOf(request, "content-type").toLowerCase();
  const path = pathOf(request);
  const { status, message } = refusal;
  const [code, name] = CODES[status];
  if (type.startsWith("application/grpc")) {
    // Trailers only: HTTP status 200, the gRPC status in a header, and no body.
    const headers = {
      "content-type": type,
      "grpc-status": String(code),
      // Encodes no more than must be: grpc-js shows a needless `%3A` in the
      // message as it is.
      "grpc-message": message
        .toWellFormed()
        .replace(/[^ -~]|%/gu, encodeURIComponent),
    };
    return { status: 200, headers, body: "" };
  }
  if (RPC_PATH.test(path)) {
    const error = { code: name, message };
    if (!type.startsWith("application/connect+")) {
      return { body: JSON.stringify(error) };
    }
    // A stream ends with the error in an envelope.
    const json = Buffer.from(JSON.stringify({ error }));
    const head = Buffer.alloc(5);
    head.writeUInt8(END_OF_STREAM);
    head.writeUInt32BE(json.length, 1);
    return {
      status: 200,
      headers: { "content-type": type },
      body: Buffer.concat([head, json]),
    };
  }
  if (request.method === "POST" && JSON_RPC_PATH.test(path)) {
    const { code: rpcCode } = await jsonRpcError(refusal);
    const error = { code: rpcCode, message };
    return { body: JSON.stringify({ jsonrpc: "2.0", id: null, error }) };
  }
  if (path.startsWith("/v1/")) {
    const { errorToRest } = await import("@devtool/schema/a2a-v03");
    return { body: JSON.stringify(errorToRest(await jsonRpcError(refusal))) };
  }
  if (GEMINI_CLI_PATH.test(path)) {
    return { body: JSON.stringify({ error: message }) };
  }
  // HTTP+JSON of A2A 1.0 (section 11.6), and the form of paths that no protocol
  // claims.
  return {
    body: JSON.stringify({
      error: { code: status, status: name.toUpperCase(), message, details: [] },
    }),
  };
}

async function jsonRpcError({
  status,
  message,
}: Refusal): Promise<JsonRpcError> {
  const { JsonRpcCode, JsonRpcErrorSchema } = await import(
    "@devtool/schema/a2a-v03"
  );
  const code =
    status === 503 ? JsonRpcCode.INTERNAL_ERROR : JsonRpcCode.INVALID_REQUEST;
  return create(JsonRpcErrorSchema, { code, message });
}
