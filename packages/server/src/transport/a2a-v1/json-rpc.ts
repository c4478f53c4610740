import type { HandlerContext } from "@connectrpc/connect";
import { JsonRpcCode } from "@devtool/schema/a2a-v03";
import { quoted } from "../../errors.ts";
import type { Answer, Answered } from "../http/answer.ts";
import { assertHasId, errorText, JsonRpcFailure, resultText } from "../http/json-rpc.ts";
import type { DialectCall, JsonRpcDialect } from "../http/json-rpc-dialect.ts";
import { type HttpRequest, type HttpResponse, send, takesStream } from "../http/route.ts";
import { streamFrames } from "../http/stream-frames.ts";
import { assertVersion } from "./call.ts";
import { COMMANDS, runCommand } from "./commands.ts";
import { type Endpoint, reported, tableOf } from "./endpoint.ts";
import { A2aFailure, rpcErrorOf } from "./errors.ts";
import { contextOf } from "./operation.ts";
import { isVersion1, versionOf } from "./version.ts";

/**
 * A2A 1.0 over JSON-RPC, beside 0.3 on one endpoint. The version that a request names decides; one that names none is
 * of the version whose methods are called so.
 */
export function jsonRpcDialect(endpoint: Endpoint): JsonRpcDialect {
  return {
    takes: (request, method) => {
      const version = versionOf(request);
      return version === "" ? endpoint.operations.has(method) : !/^0\.3(\.\d+)?$/.test(version);
    },
    answer: (request, response, call) => answer(request, response, { ...endpoint, call }),
    refuseMediaType: (request, response, message) => {
      if (!isVersion1(versionOf(request))) return false;
      const failure = new A2aFailure(message, "CONTENT_TYPE_NOT_SUPPORTED");
      send(response, 415, { body: failureText("null", failure, endpoint) });
      return true;
    },
  };
}

interface Answering extends Endpoint {
  readonly call: DialectCall;
}

async function answer(request: HttpRequest, response: HttpResponse, answering: Answering): Promise<void> {
  const { id } = answering.call;
  try {
    await respond(response, await run(request, answering), answering);
  } catch (reason) {
    if (response.destroyed || response.headersSent) return;
    send(response, 200, { body: failureText(id, reason, answering) });
  }
}

async function run(request: HttpRequest, answering: Answering): Promise<Answered> {
  const { call, operations } = answering;
  const operation = operations.get(call.method);
  const method = operation?.spec.method ?? COMMANDS.get(call.method);
  if (!method) throw unknownMethod(request, answering);
  assertHasId(call);
  const context = contextOf(request, { method }, call.signal);
  const answer = operation
    ? await operation.run(call.params ?? {}, context)
    : await commandOf(request, answering, context);
  return { answer, headers: () => context.answerHeaders };
}

async function commandOf(request: HttpRequest, answering: Answering, context: HandlerContext): Promise<Answer> {
  assertVersion(versionOf(request));
  return runCommand(answering, answering.call, { context, takesStream: takesStream(request) });
}

/** Writes an answer; resolves when all of it is written. */
function respond(
  response: HttpResponse,
  { answer, headers }: Answered,
  answering: Answering,
): Promise<void> | undefined {
  const { id } = answering.call;
  if (answer.case === "result") {
    return void send(response, 200, { body: resultText(id, JSON.stringify(answer.value)), ...headers() });
  }
  return streamFrames(response, answer.value, {
    endpoint: answering,
    headers,
    data: (result) => resultText(id, result),
    error: (reason) => failureText(id, reason, answering),
  });
}

function failureText(id: string, reason: unknown, endpoint: Endpoint): string {
  if (reason instanceof JsonRpcFailure) return errorText(id, { code: reason.code, message: reason.message });
  return errorText(id, rpcErrorOf(reported(reason, endpoint), tableOf(endpoint)));
}

/** The error for a method that A2A 1.0 does not have; throws what is wrong with the version when that comes first. */
function unknownMethod(request: HttpRequest, { call, operations }: Answering): JsonRpcFailure {
  const version = versionOf(request);
  assertVersion(version);
  const known = [...operations.keys(), ...COMMANDS.keys()].join(", ");
  const older = isVersion1(version) && call.method.includes("/") ? ` of A2A ${version}` : "";
  const message = `method ${quoted(call.method)}${older} does not exist: choose ${known}`;
  return new JsonRpcFailure(message, JsonRpcCode.METHOD_NOT_FOUND);
}
