import { create } from "@bufbuild/protobuf";
import { errorToRest, JsonRpcCode, JsonRpcErrorSchema } from "@devtool/schema/a2a-v03";
import { Code } from "../../errors.ts";
import type { Refusal } from "./guard.ts";
import { JSON_RPC_PATHS } from "./json-rpc.ts";
import { finish, type HttpRequest, type HttpResponse, headerOf, pathOf, RPC_PATH } from "./route.ts";

/**
 * Answers a request that is turned away before a route sees it, in the form of the protocol that it speaks: a status of
 * gRPC or gRPC-Web, an error of Connect, of JSON-RPC, or of HTTP+JSON in either version of A2A. HTTP's own status and
 * `WWW-Authenticate` stay wherever the protocol has them.
 */
export function refuse(request: HttpRequest, response: HttpResponse, refusal: Refusal): void {
  const { status, challenge } = refusal;
  const form = formOf(request, refusal);
  const headers = {
    "content-type": "application/json",
    // HTTP/2 has no such header.
    ...(request.httpVersionMajor === 1 && { connection: "close" }),
    ...(challenge !== undefined && { "www-authenticate": challenge }),
    ...form.headers,
  };
  response.statusCode = form.status ?? status;
  for (const [name, value] of Object.entries(headers)) response.setHeader(name, value);
  finish(response, form.body);
}

/** What is answered beside HTTP's own status, or in place of it. */
interface Form {
  readonly status?: number;
  readonly headers?: Readonly<Record<string, string>>;
  readonly body: string | Uint8Array;
}

function formOf(request: HttpRequest, refusal: Refusal): Form {
  const type = headerOf(request, "content-type").toLowerCase();
  const path = pathOf(request);
  if (type.startsWith("application/grpc")) return grpcForm(type, refusal);
  if (RPC_PATH.test(path)) return connectForm(type, refusal);
  if (request.method === "POST" && JSON_RPC_PATHS.has(path)) return { body: JSON.stringify(rpcError(refusal)) };
  if (path.startsWith("/v1/")) return { body: JSON.stringify(errorToRest(jsonRpcError(refusal))) };
  if (GEMINI_CLI_PATH.test(path)) return { body: JSON.stringify({ error: refusal.message }) };
  return { body: JSON.stringify(statusForm(refusal)) };
}

/** The routes of Gemini CLI's own server, whose errors are a word under `error`. */
const GEMINI_CLI_PATH = /^\/(executeCommand|listCommands|tasks|tasks\/metadata|tasks\/[^/]+\/metadata)$/;

/** A response that is all trailers: gRPC's own status with HTTP 200, and no body. */
function grpcForm(type: string, { status, message }: Refusal): Form {
  const headers = {
    "content-type": type,
    "grpc-status": String(CODES[status].code),
    // Clients of grpc-js take `%3A` and the like for words of the message: only what must be encoded is.
    "grpc-message": message.toWellFormed().replace(/[^ -~]|%/gu, encodeURIComponent),
  };
  return { status: 200, headers, body: "" };
}

/** An error of Connect: of a stream in the envelope that ends it, otherwise as JSON. */
function connectForm(type: string, { status, message }: Refusal): Form {
  const error = { code: CODES[status].connect, message };
  if (!type.startsWith("application/connect+")) return { body: JSON.stringify(error) };
  const json = Buffer.from(JSON.stringify({ error }));
  const head = Buffer.alloc(5);
  head.writeUInt8(END_OF_STREAM);
  head.writeUInt32BE(json.length, 1);
  return { status: 200, headers: { "content-type": type }, body: Buffer.concat([head, json]) };
}

/** The flag of the envelope that ends a stream of Connect. */
const END_OF_STREAM = 2;

function rpcError(refusal: Refusal): object {
  const { code, message } = jsonRpcError(refusal);
  return { jsonrpc: "2.0", id: null, error: { code, message } };
}

function jsonRpcError({ status, message }: Refusal): ReturnType<typeof create<typeof JsonRpcErrorSchema>> {
  const code = status === 503 ? JsonRpcCode.INTERNAL_ERROR : JsonRpcCode.INVALID_REQUEST;
  return create(JsonRpcErrorSchema, { code, message });
}

/** An error as HTTP+JSON of A2A 1.0 has it (section 11.6). */
function statusForm({ status, message }: Refusal): object {
  return { error: { code: status, status: CODES[status].name, message, details: [] } };
}

/** The codes of gRPC for the statuses of HTTP, and their names in `google.rpc` and in Connect. */
const CODES: Readonly<
  Record<Refusal["status"], { readonly code: Code; readonly name: string; readonly connect: string }>
> = {
  401: { code: Code.Unauthenticated, name: "UNAUTHENTICATED", connect: "unauthenticated" },
  403: { code: Code.PermissionDenied, name: "PERMISSION_DENIED", connect: "permission_denied" },
  503: { code: Code.Unavailable, name: "UNAVAILABLE", connect: "unavailable" },
};
