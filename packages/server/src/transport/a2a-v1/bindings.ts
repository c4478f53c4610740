import type { ServiceImpl } from "@connectrpc/connect";
import { A2AService, MessageQueueService } from "@devtool/schema/a2a-v1";
import type { JsonRpcVersion } from "../a2a/json-rpc-endpoint.ts";
import type { RoutedCall } from "../http/routed-call.ts";
import type { A2aV1Endpoint } from "./endpoint.ts";
import { ERROR_TABLE } from "./error-table.ts";
import { jsonRpcVersion } from "./json-rpc.ts";
import { operationsOf } from "./operation.ts";
import type { A2aV1Options } from "./options.ts";
import { createRest } from "./rest.ts";
import { createA2aService, createQueueService } from "./service.ts";

/** A2A 1.0 in its three bindings. */
export interface A2aV1 {
  /** Answers requests of HTTP+JSON. */
  readonly answerRest: (call: RoutedCall) => Promise<void>;

  /** The version for the JSON-RPC endpoint, which it shares with 0.3. */
  readonly rpc: JsonRpcVersion;

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
  const endpoint: A2aV1Endpoint = {
    ...options,
    operations,
    errorTable: options.errorTable ?? ERROR_TABLE,
  };
  return {
    answerRest: createRest(endpoint),
    rpc: jsonRpcVersion(endpoint),
    service,
    queue,
  };
}
