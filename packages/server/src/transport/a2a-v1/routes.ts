import type { ServiceImpl } from "@connectrpc/connect";
import { A2AService, MessageQueueService } from "@devtool/schema/a2a-v1";
import type { JsonRpcDialect } from "../http/json-rpc-endpoint.ts";
import type { Route } from "../http/route.ts";
import type { Endpoint } from "./endpoint.ts";
import { ERROR_TABLE } from "./error-table.ts";
import { jsonRpcDialect } from "./json-rpc.ts";
import { operationsOf } from "./operation.ts";
import type { A2aV1Options } from "./options.ts";
import { restRoutes } from "./rest.ts";
import { createA2aService, createQueueService } from "./service.ts";

/** A2A 1.0 in its three bindings. */
export interface A2aV1 {
  /** The routes of HTTP+JSON. */
  readonly routes: readonly Route[];

  /** The version for the JSON-RPC endpoint, which it shares with 0.3. */
  readonly dialect: JsonRpcDialect;

  /** The service, for gRPC, gRPC-Web and Connect. */
  readonly service: ServiceImpl<typeof A2AService>;

  /** Our addition to the service for queued messages. */
  readonly queue: ServiceImpl<typeof MessageQueueService>;
}

/** Creates A2A 1.0. All three bindings call the same service. */
export function createA2aV1(options: A2aV1Options): A2aV1 {
  const service = createA2aService(options);
  const queue = createQueueService(options);
  const operations = new Map([
    ...operationsOf(A2AService, service),
    ...operationsOf(MessageQueueService, queue),
  ]);
  const endpoint: Endpoint = {
    ...options,
    operations,
    errorTable: options.errorTable ?? ERROR_TABLE,
  };
  return {
    routes: restRoutes(endpoint),
    dialect: jsonRpcDialect(endpoint),
    service,
    queue,
  };
}
