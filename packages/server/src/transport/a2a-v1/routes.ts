import type { ServiceImpl } from "@connectrpc/connect";
import { A2AService, MessageQueueService } from "@devtool/schema/a2a-v1";
import type { JsonRpcDialect } from "../http/json-rpc-dialect.ts";
import type { Route } from "../http/route.ts";
import type { Endpoint, HttpOptions } from "./endpoint.ts";
import { jsonRpcDialect } from "./json-rpc.ts";
import { operationsOf } from "./operation.ts";
import { restRoutes } from "./rest.ts";
import { restCommandRoutes } from "./rest-commands.ts";
import { createA2aService, createQueueService } from "./service.ts";

export type { HttpOptions as A2aV1Options } from "./endpoint.ts";

/** A2A 1.0, ready to be served. */
export interface A2aV1 {
  /** Its routes of HTTP+JSON. */
  readonly routes: readonly Route[];
  /** What it adds to the endpoint of JSON-RPC, which it shares with 0.3. */
  readonly dialect: JsonRpcDialect;
  /** Its service, for gRPC, gRPC-Web and Connect. */
  readonly service: ServiceImpl<typeof A2AService>;
  /** What our server adds to it for messages that wait. */
  readonly queue: ServiceImpl<typeof MessageQueueService>;
}

/** Makes A2A 1.0 in its three bindings, all of one service. */
export function createA2aV1(options: HttpOptions): A2aV1 {
  const service = createA2aService(options);
  const queue = createQueueService(options);
  const operations = new Map([...operationsOf(A2AService, service), ...operationsOf(MessageQueueService, queue)]);
  const endpoint: Endpoint = { ...options, operations };
  return {
    routes: [...restRoutes(endpoint), ...restCommandRoutes(endpoint)],
    dialect: jsonRpcDialect(endpoint),
    service,
    queue,
  };
}
