import {
  Code,
  ConnectError,
  createRouterTransport,
  type Transport,
} from "@connectrpc/connect";
import { PushService, SlashCommandService, TaskService } from "@devtool/schema";
import { agentUrl } from "../a2a/agent-url.ts";
import type { EndpointOptions } from "../a2a/endpoint.ts";
import { createGeminiCliCommandService } from "./commands.ts";
import { GeminiCliEndpoint } from "./endpoint.ts";
import { RecordedTasks } from "./recorded-task.ts";
import { createGeminiCliTaskService } from "./tasks.ts";

/**
 * The address of a server that speaks the `coderAgent` dialect.
 */
export type GeminiCliTransportOptions = EndpointOptions;

/**
 * Creates a transport to a server that speaks the `coderAgent` dialect of A2A
 * 0.3, as Gemini CLI's own does. A client over it has the same services as over
 * Connect or gRPC.
 *
 * The dialect has no push notifications, no queued messages, no titles, no
 * `watchTasks`, and no choice of model, tools or MCP servers: such calls fail
 * with `Code.Unimplemented`. Its server does not
 * replay events, so the events of a task can be read again only from the
 * transport that received them.
 *
 * Throws `Code.InvalidArgument` for an invalid URL.
 *
 * ```ts
 * const client = createDevtoolClient(createGeminiCliTransport({ url: "http://127.0.0.1:41242" }));
 * ```
 */
export function createGeminiCliTransport(
  options: GeminiCliTransportOptions,
): Transport {
  const url = agentUrl(options.url).href;
  const endpoint = new GeminiCliEndpoint({ ...options, url });
  const recorded = new RecordedTasks();
  return createRouterTransport(({ service }) => {
    service(TaskService, createGeminiCliTaskService(endpoint, recorded));
    service(
      SlashCommandService,
      createGeminiCliCommandService(endpoint, recorded),
    );
    service(PushService, {
      setPushConfig: refusePush,
      getPushConfig: refusePush,
      listPushConfigs: refusePush,
      deletePushConfig: refusePush,
    });
  });
}

function refusePush(): never {
  const message =
    "push notifications are not available over the coderAgent dialect: stream instead";
  throw new ConnectError(message, Code.Unimplemented);
}
