import { Code, ConnectError, createRouterTransport, type ServiceImpl, type Transport } from "@connectrpc/connect";
import { PushService, SlashCommandService, TaskService } from "@devtool/schema";
import type { EndpointOptions } from "../a2a/endpoint.ts";
import { slashCommandImpl } from "./commands.ts";
import { GeminiCliEndpoint } from "./endpoint.ts";
import { SeenTasks } from "./seen-task.ts";
import { taskImpl } from "./tasks.ts";

/** Where a server is that speaks the `coderAgent` dialect. */
export type GeminiCliTransportOptions = EndpointOptions;

/**
 * Makes a transport to a server that speaks the `coderAgent` dialect of A2A 0.3, as Gemini CLI's own does: our services
 * on the outside. What the dialect has no form for fails with `Code.Unimplemented`, in words: push notifications, a
 * choice of model, tools or MCP servers. Events can be read again from the transport that saw them, and from no other.
 */
export function createGeminiCliTransport(options: GeminiCliTransportOptions): Transport {
  const endpoint = new GeminiCliEndpoint(options);
  const seen = new SeenTasks();
  return createRouterTransport(({ service }) => {
    service(TaskService, taskImpl(endpoint, seen));
    service(SlashCommandService, slashCommandImpl(endpoint, seen));
    service(PushService, noPush());
  });
}

function noPush(): ServiceImpl<typeof PushService> {
  const refuse = (): never => {
    throw new ConnectError("push notifications: the coderAgent dialect has none: stream", Code.Unimplemented);
  };
  return { setPushConfig: refuse, getPushConfig: refuse, listPushConfigs: refuse, deletePushConfig: refuse };
}
