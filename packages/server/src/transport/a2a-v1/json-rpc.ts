import { JsonRpcCode } from "@devtool/schema/a2a-v03";
import { quoted } from "../../errors.ts";
import { type Answered, writeAnswer } from "../http/answer.ts";
import {
  assertHasId,
  errorText,
  JsonRpcFailure,
  resultText,
} from "../http/json-rpc.ts";
import type { DialectCall, JsonRpcDialect } from "../http/json-rpc-endpoint.ts";
import { type HttpRequest, send, takesStream } from "../http/route.ts";
import { COMMANDS, runCommand } from "./commands.ts";
import { type Endpoint, reportError } from "./endpoint.ts";
import { A2aFailure, rpcErrorFrom } from "./errors.ts";
import { createContext } from "./operation.ts";
import { assertVersion, isVersion1, versionOf } from "./version.ts";

/**
 * A2A 1.0 over JSON-RPC, which shares its endpoint with 0.3.
 *
 * The version that a request names decides. A request that names none belongs
 * to the version whose method it calls.
 */
export function jsonRpcDialect(endpoint: Endpoint): JsonRpcDialect {
  return {
    takes: (request, method) => {
      const version = versionOf(request);
      return version === ""
        ? endpoint.operations.has(method)
        : !/^0\.3(\.\d+)?$/.test(version);
    },
    async answer(request, response, call) {
      const { id } = call;
      try {
        const answered = await runMethod(request, endpoint, call);
        await writeAnswer(response, answered, {
          endpoint,
          wrap: (result) => resultText(id, result),
          error: (reason) => failureText(id, reason, endpoint),
        });
      } catch (reason) {
        if (response.destroyed || response.headersSent) return;
        send(response, 200, { body: failureText(id, reason, endpoint) });
      }
    },
    refuseMediaType: (request, response, message) => {
      if (!isVersion1(versionOf(request))) return false;
      const failure = new A2aFailure(message, "CONTENT_TYPE_NOT_SUPPORTED");
      send(response, 415, { body: failureText("null", failure, endpoint) });
      return true;
    },
  };
}

/**
 * Runs a method of A2A 1.0 or of the extension.
 *
 * Throws for an unknown method, but first for an unknown version.
 */
async function runMethod(
  request: HttpRequest,
  endpoint: Endpoint,
  call: DialectCall,
): Promise<Answered> {
  const { method: name, params, signal } = call;
  const { operations } = endpoint;
  const operation = operations.get(name);
  const method = operation?.spec.method ?? COMMANDS.get(name);
  if (!method) {
    const version = versionOf(request);
    assertVersion(version);
    const known = [...operations.keys(), ...COMMANDS.keys()].join(", ");
    const older =
      isVersion1(version) && name.includes("/") ? ` of A2A ${version}` : "";
    const message = `method ${quoted(name)}${older} does not exist: choose ${known}`;
    throw new JsonRpcFailure(message, JsonRpcCode.METHOD_NOT_FOUND);
  }
  assertHasId(call);
  const context = createContext(request, method, signal);
  if (!operation) assertVersion(versionOf(request));
  const answer = operation
    ? await operation.run(params ?? {}, context)
    : await runCommand(endpoint, {
        method: name,
        params,
        context,
        takesStream: takesStream(request),
      });
  return { answer, headers: () => context.takeAnswerHeaders() };
}

function failureText(id: string, reason: unknown, endpoint: Endpoint): string {
  if (reason instanceof JsonRpcFailure) {
    return errorText(id, { code: reason.code, message: reason.message });
  }
  return errorText(
    id,
    rpcErrorFrom(reportError(reason, endpoint), endpoint.errorTable),
  );
}
