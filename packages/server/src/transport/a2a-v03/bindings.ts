import { encodeStreamFrame, streamFrameEncoder } from "@devtool/schema/a2a-v03";
import type { JsonRpcVersion } from "../a2a/json-rpc-endpoint.ts";
import type { MethodDialect } from "../a2a/method.ts";
import { oncePerView } from "../a2a/once-per-view.ts";
import type { DialectServices } from "../dialect.ts";
import type { RoutedCall } from "../http/routed-call.ts";
import type { A2aV03Endpoint } from "./endpoint.ts";
import { jsonRpcVersion } from "./json-rpc.ts";
import { answerRest } from "./rest.ts";
import { createA2aV03Service } from "./service.ts";

/** A2A 0.3 in its two bindings. */
export interface A2aV03 {
  /** Answers requests of HTTP+JSON. */
  readonly answerRest: (call: RoutedCall) => Promise<void>;

  /**
   * The version for the JSON-RPC endpoint. It takes every request, and
   * therefore must be the last.
   */
  readonly rpc: JsonRpcVersion;
}

/**
 * Creates A2A 0.3 for the agent of the services.
 *
 * @param forms other forms of it; each answers the calls that it takes
 */
export function createA2aV03(
  services: DialectServices,
  forms: readonly MethodDialect[],
): A2aV03 {
  const endpoint: A2aV03Endpoint = {
    ...services,
    forms,
    operations: createA2aV03Service(services),
    encodeEvent: streamFrameEncoder(oncePerView(encodeStreamFrame)),
  };
  // A2A 0.3 defines `tasks/list` for HTTP+JSON and not for JSON-RPC (section
  // 3.5.6).
  const operations = new Map(
    [...endpoint.operations].filter(([name]) => name !== "tasks/list"),
  );
  return {
    answerRest: (call) => answerRest(call, endpoint),
    rpc: jsonRpcVersion({ ...endpoint, operations }),
  };
}
