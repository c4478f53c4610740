import type { DescMethod, JsonValue } from "@bufbuild/protobuf";
import type { HandlerContext } from "@connectrpc/connect";
import { SlashCommandService } from "@devtool/schema";
import { JsonRpcCode } from "@devtool/schema/a2a-v03";
import { ClientGone } from "../a2a_v03/client-gone.ts";
import { streamFrames } from "../a2a_v03/stream-frames.ts";
import type { DialectCall, JsonRpcDialect } from "../json-rpc-dialect.ts";
import { type HttpRequest, type HttpResponse, headerOf, send } from "../route.ts";
import { assertVersion } from "./call.ts";
import { executeCommand, getCommands } from "./commands.ts";
import { type Endpoint, reported, tableOf } from "./endpoint.ts";
import { A2aFailure, rpcErrorOf } from "./errors.ts";
import { type Answer, contextOf } from "./operation.ts";
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
      send(response, 415, { body: errorText("null", failure, endpoint) });
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
    using gone = new ClientGone(response, answering.shutdown);
    const { answered, headers } = await run(request, answering, gone.signal);
    // Awaited here, so that it is noticed for as long as the stream lasts when the client goes.
    await respond(response, answered, { ...answering, headers });
  } catch (reason) {
    if (response.destroyed || response.headersSent) return;
    send(response, 200, { body: errorText(id, reason, answering) });
  }
}

interface Answered {
  readonly answered: Answer;
  readonly headers: Readonly<Record<string, string>>;
}

async function run(request: HttpRequest, answering: Answering, signal: AbortSignal): Promise<Answered> {
  const { call, operations } = answering;
  const operation = operations.get(call.method);
  const method = operation?.spec.method ?? COMMANDS.get(call.method);
  if (!method) throw unknownMethod(request, answering);
  const context = contextOf(request, { method }, signal);
  const answered = operation
    ? await operation.run(call.params ?? {}, context)
    : await runCommand(request, answering, context);
  return { answered, headers: Object.fromEntries(context.responseHeader) };
}

/** The methods of the extension, which stand in no proto of A2A (CMD-1). */
const COMMANDS: ReadonlyMap<string, DescMethod> = new Map<string, DescMethod>([
  ["commands/get", SlashCommandService.method.getAllSlashCommands],
  ["command/execute", SlashCommandService.method.runSlashCommand],
]);

async function runCommand(request: HttpRequest, answering: Answering, context: HandlerContext): Promise<Answer> {
  assertVersion(versionOf(request));
  if (answering.call.method === "commands/get") return getCommands(answering, answering.call.params, context);
  const takesStream = headerOf(request, "accept").includes("text/event-stream");
  const started = executeCommand(answering, answering.call.params, context);
  return takesStream ? { case: "stream", value: started } : firstOf(started);
}

async function firstOf(frames: AsyncIterable<{ readonly result: string }>): Promise<Answer> {
  for await (const { result } of frames) return { case: "result", value: JSON.parse(result) };
  return { case: "result", value: {} };
}

interface Responding extends Answering {
  readonly headers: Readonly<Record<string, string>>;
}

async function respond(response: HttpResponse, answered: Answer, responding: Responding): Promise<void> {
  const { call, headers } = responding;
  if (answered.case === "result") {
    return send(response, 200, { body: resultText(call.id, JSON.stringify(answered.value)), ...headers });
  }
  await streamFrames(response, answered.value, {
    ...responding,
    data: (result) => resultText(call.id, result),
    error: (reason) => errorText(call.id, reason, responding),
  });
}

function resultText(id: string, result: string): string {
  return `{"jsonrpc":"2.0","id":${id},"result":${result}}`;
}

function errorText(id: string, reason: unknown, endpoint: Endpoint): string {
  const error: JsonValue =
    reason instanceof UnknownMethod ? reason.error : rpcErrorOf(reported(reason, endpoint), tableOf(endpoint));
  return `{"jsonrpc":"2.0","id":${id},"error":${JSON.stringify(error)}}`;
}

class UnknownMethod extends Error {
  get error(): JsonValue {
    return { code: JsonRpcCode.METHOD_NOT_FOUND, message: this.message };
  }
}

/** The error for a method that A2A 1.0 does not have; throws what is wrong with the version when that comes first. */
function unknownMethod(request: HttpRequest, { call, operations }: Answering): UnknownMethod {
  const version = versionOf(request);
  assertVersion(version);
  const known = [...operations.keys(), ...COMMANDS.keys()].join(", ");
  const older = isVersion1(version) && call.method.includes("/") ? ` of A2A ${version}` : "";
  return new UnknownMethod(`method ${JSON.stringify(call.method)}${older} does not exist: choose ${known}`);
}
