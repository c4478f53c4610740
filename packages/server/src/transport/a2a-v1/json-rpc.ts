import { JsonRpcCode } from "@devtool/schema/a2a-v03";
import { quoted } from "../../errors.ts";
import { type Answer, writeAnswer } from "../a2a/answer.ts";
import {
  assertHasId,
  errorText,
  JsonRpcFailure,
  resultText,
} from "../a2a/json-rpc.ts";
import type {
  IdentifiedRequest,
  JsonRpcVersion,
} from "../a2a/json-rpc-endpoint.ts";
import { send } from "../http/route.ts";
import type { RoutedCall } from "../http/routed-call.ts";
import { COMMANDS, runCommand } from "./commands.ts";
import { type A2aV1Endpoint, reportError } from "./endpoint.ts";
import { A2aFailure, rpcErrorFrom } from "./errors.ts";
import { contextOf } from "./operation.ts";
import { assertVersion, isVersion1, versionOf } from "./version.ts";

/**
 * A2A 1.0 over JSON-RPC, which shares its endpoint with 0.3.
 *
 * The version that a request names decides. A request that names none belongs
 * to the version whose method it calls.
 */
export function jsonRpcVersion(endpoint: A2aV1Endpoint): JsonRpcVersion {
  return {
    takes: (call, method) => {
      const version = versionOf(call);
      return version === ""
        ? endpoint.operations.has(method)
        : !/^0\.3(\.\d+)?$/.test(version);
    },
    async answer(call, rpc) {
      const { response } = call;
      const { id } = rpc;
      try {
        await writeAnswer(call, await runMethod(call, endpoint, rpc), {
          endpoint,
          wrap: (result) => resultText(id, result),
          error: (reason) => failureText(id, reason, endpoint),
        });
      } catch (reason) {
        if (response.destroyed || response.headersSent) return;
        call.noteRefusal(reason);
        send(response, 200, { body: failureText(id, reason, endpoint) });
      }
    },
    refuseMediaType: (call, message) => {
      if (!isVersion1(versionOf(call))) return false;
      const failure = new A2aFailure(message, "CONTENT_TYPE_NOT_SUPPORTED");
      send(call.response, 415, {
        body: failureText("null", failure, endpoint),
      });
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
  call: RoutedCall,
  endpoint: A2aV1Endpoint,
  rpc: IdentifiedRequest,
): Promise<Answer> {
  const { method: name, params } = rpc;
  const { operations } = endpoint;
  const operation = operations.get(name);
  if (!operation && !COMMANDS.includes(name)) {
    const version = versionOf(call);
    assertVersion(version);
    const known = [...operations.keys(), ...COMMANDS].join(", ");
    const older =
      isVersion1(version) && name.includes("/") ? ` of A2A ${version}` : "";
    const message = `method ${quoted(name)}${older} does not exist: choose ${known}`;
    throw new JsonRpcFailure(message, JsonRpcCode.METHOD_NOT_FOUND);
  }
  assertHasId(rpc);
  const context = contextOf(call, "jsonrpc");
  if (operation) return operation.run(params ?? {}, context);
  assertVersion(versionOf(call));
  const { takesStream } = call;
  return runCommand(endpoint, { method: name, params, context, takesStream });
}

function failureText(
  id: string,
  reason: unknown,
  endpoint: A2aV1Endpoint,
): string {
  if (reason instanceof JsonRpcFailure) {
    return errorText(id, { code: reason.code, message: reason.message });
  }
  return errorText(
    id,
    rpcErrorFrom(reportError(reason, endpoint), endpoint.errorTable),
  );
}
