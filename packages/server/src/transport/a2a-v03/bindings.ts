import { encodeStreamFrame, streamFrameEncoder } from "@devtool/schema/a2a-v03";
import {
  answerJsonRpc,
  type JsonRpcVersion,
} from "../a2a/json-rpc-endpoint.ts";
import type { MethodDialect } from "../a2a/method.ts";
import { oncePerView } from "../a2a/once-per-view.ts";
import type { DialectServices } from "../dialect.ts";
import type { RoutedCall } from "../http/routed-call.ts";
import type { Endpoint } from "./endpoint.ts";
import { jsonRpcVersion } from "./json-rpc.ts";
import { answerRest } from "./rest.ts";
import { createA2aV03Service } from "./service.ts";

/** What is served beside A2A 0.3 at the same paths. */
interface Neighbours {
  /**
   * The other versions of A2A at the same JSON-RPC endpoint. They are asked
   * before A2A 0.3, which takes every request.
   */
  readonly otherVersions: readonly JsonRpcVersion[];

  /** Other forms of A2A 0.3. Each answers the calls that it takes. */
  readonly forms: readonly MethodDialect[];
}

/** A2A 0.3 in its two bindings. */
export interface A2aV03 {
  readonly answerJsonRpc: (call: RoutedCall) => Promise<void>;
  readonly answerRest: (call: RoutedCall) => Promise<void>;
}

/** Creates A2A 0.3 for the agent of the services. */
export function createA2aV03(
  services: DialectServices,
  { otherVersions, forms }: Neighbours,
): A2aV03 {
  const endpoint: Endpoint = {
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
  const versions = [
    ...otherVersions,
    jsonRpcVersion({ ...endpoint, operations }),
  ];
  return {
    answerJsonRpc: (call) => answerJsonRpc(call, services, versions),
    answerRest: (call) => answerRest(call, endpoint),
  };
}
