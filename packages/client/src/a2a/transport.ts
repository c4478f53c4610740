import { createRouterTransport, type Transport } from "@connectrpc/connect";
import { PushService, SlashCommandService, TaskService } from "@devtool/schema";
import { type A2aTransportOptions, JsonRpcEndpoint } from "./json-rpc-endpoint.ts";
import { pushImpl, slashCommandImpl, taskImpl } from "./services.ts";

/**
 * Makes a transport that speaks A2A 0.3 (JSON-RPC and server-sent events) with the development-tool extension: our
 * services on the outside, so that a client need not know which of the two it uses. `ListTasks` has no form in 0.3 and
 * fails with `Code.Unimplemented`.
 */
export function createA2aTransport(options: A2aTransportOptions): Transport {
  const endpoint = new JsonRpcEndpoint(options);
  return createRouterTransport(({ service }) => {
    service(TaskService, taskImpl(endpoint));
    service(SlashCommandService, slashCommandImpl(endpoint));
    service(PushService, pushImpl(endpoint));
  });
}
