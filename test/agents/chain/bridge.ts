/**
 * An agent on the official JavaScript SDK for A2A that gives its work to what
 * is behind it: the agent at `BRIDGE_URL`, with the token `BRIDGE_TOKEN`, or the
 * MCP server of `BRIDGE_MCP`, whose one tool it asks about in words.
 *
 * It knows nothing of devtool. With `BRIDGE_EXTENSION`, it asks for that
 * extension when it is asked for it, and hands on what it does not understand,
 * as a proxy should.
 */
import { randomUUID } from "node:crypto";
import {
  AgentCard,
  CancelTaskRequest,
  Message,
  SendMessageRequest,
  TaskState,
  type TaskStatus,
} from "@a2a-js/sdk";
import {
  type Client,
  ClientFactory,
  DefaultAgentCardResolver,
  JsonRpcTransportFactory,
  ServiceParameters,
  withA2AExtensions,
} from "@a2a-js/sdk/client";
import {
  AgentEvent,
  type AgentExecutor,
  DefaultRequestHandler,
  type ExecutionEventBus,
  InMemoryTaskStore,
  type RequestContext,
} from "@a2a-js/sdk/server";
import {
  agentCardHandler,
  jsonRpcHandler,
  UserBuilder,
} from "@a2a-js/sdk/server/express";
import { serve } from "../../interop/servers/serve.ts";
import { Client as McpClient, StdioClientTransport } from "../../mcp/sdk.ts";

const {
  BRIDGE_URL = "",
  BRIDGE_TOKEN = "",
  BRIDGE_MCP = "",
  BRIDGE_EXTENSION = "",
} = process.env;

/** Opens the agent behind this one. */
async function open(): Promise<Client> {
  const fetchImpl: typeof fetch = (input, init) => {
    const headers = new Headers(init?.headers);
    headers.set("authorization", `Bearer ${BRIDGE_TOKEN}`);
    return fetch(input, { ...init, headers });
  };
  const factory = new ClientFactory({
    transports: [new JsonRpcTransportFactory({ fetchImpl })],
    cardResolver: new DefaultAgentCardResolver({ fetchImpl }),
  });
  return factory.createFromUrl(BRIDGE_URL);
}

/** Hands messages to the agent behind, and what that says back. */
class Bridge implements AgentExecutor {
  readonly #client: Client;
  /** The tasks behind, by the tasks here. */
  readonly #behind = new Map<string, string>();

  constructor(client: Client) {
    this.#client = client;
  }

  async execute(context: RequestContext, bus: ExecutionEventBus) {
    const { userMessage, taskId } = context;
    announce(context, bus);
    const behind = this.#behind.get(taskId) ?? "";
    const request = SendMessageRequest.fromJSON({
      message: {
        ...Object(Message.toJSON(userMessage)),
        contextId: "",
        taskId: behind,
        referenceTaskIds: [],
      },
    });
    const options = {
      ...(BRIDGE_EXTENSION !== "" && {
        serviceParameters: ServiceParameters.create(
          withA2AExtensions(BRIDGE_EXTENSION),
        ),
      }),
    };
    for await (const { payload } of this.#client.sendMessageStream(
      request,
      options,
    )) {
      if (payload?.$case === "task") {
        this.#behind.set(taskId, payload.value.id);
      } else if (payload?.$case === "statusUpdate") {
        const { status, metadata } = payload.value;
        publish(context, bus, status, metadata);
      } else if (payload?.$case === "artifactUpdate") {
        const place = { taskId, contextId: context.contextId };
        bus.publish(AgentEvent.artifactUpdate({ ...payload.value, ...place }));
      }
    }
    bus.finished();
  }

  async cancelTask(taskId: string, bus: ExecutionEventBus) {
    const id = this.#behind.get(taskId) ?? "";
    await this.#client.cancelTask(CancelTaskRequest.fromJSON({ id }));
    const status = statusOf(TaskState.TASK_STATE_CANCELED);
    publish({ taskId, contextId: "" }, bus, status);
    bus.finished();
  }
}

/** Asks in words, and calls the tool of an MCP server. */
class Caller implements AgentExecutor {
  readonly #client: McpClient;
  /** The arguments of the call that each task asks about. */
  readonly #asked = new Map<string, Record<string, unknown>>();

  constructor(client: McpClient) {
    this.#client = client;
  }

  async execute(context: RequestContext, bus: ExecutionEventBus) {
    const { userMessage, taskId } = context;
    const content = userMessage.parts[0]?.content;
    const said = content?.$case === "text" ? content.value : "";
    announce(context, bus);
    const args = this.#asked.get(taskId);
    if (!args) {
      this.#asked.set(taskId, JSON.parse(said));
      const { TASK_STATE_INPUT_REQUIRED } = TaskState;
      const status = statusOf(TASK_STATE_INPUT_REQUIRED, `Pay ${said}?`);
      publish(context, bus, status);
    } else {
      const { TASK_STATE_COMPLETED } = TaskState;
      // What an ACP client says yes with has no words of its own.
      const isAllowed = said === "yes" || said === "Go on.";
      if (isAllowed) {
        await this.#client.callTool({ name: "pay", arguments: args });
      }
      const text = isAllowed ? "Paid." : "Not paid.";
      publish(context, bus, statusOf(TASK_STATE_COMPLETED, text));
    }
    bus.finished();
  }

  async cancelTask() {}
}

function announce(
  { task, taskId, contextId, userMessage }: RequestContext,
  bus: ExecutionEventBus,
): void {
  const status = statusOf(TaskState.TASK_STATE_SUBMITTED);
  const opened = task ?? {
    ...{ id: taskId, contextId, status, artifacts: [], metadata: undefined },
    history: [userMessage],
  };
  bus.publish(AgentEvent.task(opened));
}

function publish(
  { taskId, contextId }: Pick<RequestContext, "taskId" | "contextId">,
  bus: ExecutionEventBus,
  status: TaskStatus | undefined,
  metadata?: Record<string, unknown>,
): void {
  const message = status?.message && { ...status.message, taskId, contextId };
  bus.publish(
    AgentEvent.statusUpdate({
      ...{ taskId, contextId, metadata },
      status: status && { ...status, message },
    }),
  );
}

function statusOf(state: TaskState, text?: string): TaskStatus {
  const said = {
    messageId: randomUUID(),
    role: "ROLE_AGENT",
    parts: [{ text }],
  };
  return {
    state,
    message: text === undefined ? undefined : Message.fromJSON(said),
    timestamp: new Date().toISOString(),
  };
}

async function executor(): Promise<AgentExecutor> {
  if (BRIDGE_MCP === "") return new Bridge(await open());
  const client = new McpClient({ name: "bridge", version: "1" });
  const [command = "", ...args] = JSON.parse(BRIDGE_MCP);
  const env = { PAYMENTS: process.env.PAYMENTS ?? "" };
  await client.connect(new StdioClientTransport({ command, args, env }));
  return new Caller(client);
}

serve(async (app, url) => {
  const card = AgentCard.fromJSON({
    name: "bridge",
    description: "Gives its work to another agent.",
    version: "1.0.0",
    defaultInputModes: ["text/plain"],
    defaultOutputModes: ["text/plain"],
    supportedInterfaces: [
      { url: `${url}/`, protocolBinding: "JSONRPC", protocolVersion: "1.0" },
    ],
    capabilities: {
      streaming: true,
      extensions: BRIDGE_EXTENSION === "" ? [] : [{ uri: BRIDGE_EXTENSION }],
    },
  });
  const requestHandler = new DefaultRequestHandler(
    card,
    new InMemoryTaskStore(),
    await executor(),
  );
  app.use(
    "/.well-known/agent-card.json",
    agentCardHandler({ agentCardProvider: requestHandler }),
  );
  const userBuilder = UserBuilder.noAuthentication;
  app.use(jsonRpcHandler({ requestHandler, userBuilder }));
});
