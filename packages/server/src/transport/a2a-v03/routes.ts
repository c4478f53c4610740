import { encodeStreamFrame, streamFrameEncoder } from "@devtool/schema/a2a-v03";
import { oncePerView } from "../a2a/once-per-view.ts";
import { jsonRpcRoute } from "../http/json-rpc-endpoint.ts";
import type { Route } from "../http/route.ts";
import type { Endpoint } from "./endpoint.ts";
import { jsonRpcDialect } from "./json-rpc.ts";
import type { A2aV03RoutesOptions } from "./options.ts";
import { restRoute } from "./rest.ts";
import { createA2aV03Service } from "./service.ts";

/**
 * The routes of A2A 0.3: JSON-RPC with server-sent events at `/` and `/a2a`,
 * and HTTP+JSON below `/v1/`.
 */
export function a2aV03Routes(options: A2aV03RoutesOptions): Route[] {
  const endpoint: Endpoint = {
    ...options,
    operations: createA2aV03Service(options),
    encodeEvent: streamFrameEncoder(oncePerView(encodeStreamFrame)),
  };
  // A2A 0.3 defines `tasks/list` for HTTP+JSON and not for JSON-RPC (section
  // 3.5.6).
  const jsonRpcOperations = new Map(
    [...endpoint.operations].filter(([name]) => name !== "tasks/list"),
  );
  const dialects = [
    ...(options.otherVersions ?? []),
    jsonRpcDialect({ ...endpoint, operations: jsonRpcOperations }),
  ];
  return [jsonRpcRoute({ ...options, dialects }), restRoute(endpoint)];
}
