/**
 * An agent on the official JavaScript SDK for A2A 1.0, in all its bindings,
 * with its bridge to 0.3.
 */
import { randomUUID } from "node:crypto";
import { AgentCard, Message, Part, Role, TaskState } from "@a2a-js/sdk";
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
  restHandler,
  UserBuilder,
} from "@a2a-js/sdk/server/express";
import { A2AService, grpcService } from "@a2a-js/sdk/server/grpc";
import { Server, ServerCredentials } from "@grpc/grpc-js";
import { CARD, openTask, playSteps, type Step, stepsFor } from "./script.ts";
import { claims, EXTENSION, serve } from "./serve.ts";

class Player implements AgentExecutor {
  readonly #running = new Map<string, AbortController>();

  async execute(
    context: RequestContext,
    bus: ExecutionEventBus,
  ): Promise<void> {
    const { userMessage, taskId, contextId, task } = context;
    const aborted = new AbortController();
    this.#running.set(taskId, aborted);
    const opened = task ?? {
      id: taskId,
      contextId,
      status: statusOf(TaskState.TASK_STATE_SUBMITTED),
      artifacts: [],
      history: [userMessage],
      metadata: undefined,
    };
    const content = userMessage.parts[0]?.content;
    const steps = stepsFor(
      content?.$case === "text" ? content.value : undefined,
    );
    if (openTask(steps)) bus.publish(AgentEvent.task(opened));
    await playSteps(
      steps,
      (step) => publish(step, context, bus),
      aborted.signal,
    );
    bus.finished();
  }

  async cancelTask(taskId: string, bus: ExecutionEventBus): Promise<void> {
    this.#running.get(taskId)?.abort();
    const status = statusOf(TaskState.TASK_STATE_CANCELED);
    bus.publish(
      AgentEvent.statusUpdate({
        taskId,
        contextId: "",
        status,
        metadata: undefined,
      }),
    );
    bus.finished();
  }
}

function publish(
  step: Step,
  { taskId, contextId }: RequestContext,
  bus: ExecutionEventBus,
): void {
  if (step.message !== undefined) {
    const said = messageOf({ text: step.message });
    if (said) bus.publish(AgentEvent.message({ ...said, contextId }));
    return;
  }
  if (step.artifact !== undefined) {
    const artifact = {
      artifactId: randomUUID(),
      parts: [Part.fromJSON({ text: step.artifact })],
    };
    const whole = {
      ...artifact,
      name: "",
      description: "",
      metadata: undefined,
      extensions: [],
    };
    const event = {
      taskId,
      contextId,
      artifact: whole,
      append: false,
      lastChunk: true,
      metadata: undefined,
    };
    bus.publish(AgentEvent.artifactUpdate(event));
    return;
  }
  const metadata =
    step.kind === undefined
      ? undefined
      : { [EXTENSION]: { kind: step.kind, model: "interop" } };
  const status = statusOf(
    STATES.get(step.state) ?? TaskState.TASK_STATE_FAILED,
    messageOf(step),
  );
  bus.publish(AgentEvent.statusUpdate({ taskId, contextId, status, metadata }));
}

function statusOf(state: TaskState, message?: Message) {
  return { state, message, timestamp: new Date().toISOString() };
}

function messageOf({ text, data }: Step): Message | undefined {
  const parts = [
    ...(text === undefined ? [] : [{ text }]),
    ...(data ? [{ data }] : []),
  ];
  if (parts.length === 0) return undefined;
  return {
    ...Message.fromJSON({ messageId: randomUUID(), parts }),
    role: Role.ROLE_AGENT,
  };
}

const STATES: ReadonlyMap<string | undefined, TaskState> = new Map([
  ["working", TaskState.TASK_STATE_WORKING],
  ["input-required", TaskState.TASK_STATE_INPUT_REQUIRED],
  ["completed", TaskState.TASK_STATE_COMPLETED],
]);

/** Binds gRPC to a free port and returns the address. */
async function listen(server: Server): Promise<string> {
  const bound = Promise.withResolvers<number>();
  server.bindAsync(
    "127.0.0.1:0",
    ServerCredentials.createInsecure(),
    (error, port) => (error ? bound.reject(error) : bound.resolve(port)),
  );
  return `127.0.0.1:${await bound.promise}`;
}

serve(async (app, url) => {
  const legacyCompat = { enabled: true };
  const grpc = new Server();
  const offers = [
    { url: `${url}/`, protocolBinding: "JSONRPC", protocolVersion: "0.3" },
    { url: `${url}/`, protocolBinding: "JSONRPC", protocolVersion: "1.0" },
    {
      url: `${url}/rest`,
      protocolBinding: "HTTP+JSON",
      protocolVersion: "1.0",
    },
    {
      url: `${url}/rest`,
      protocolBinding: "HTTP+JSON",
      protocolVersion: "0.3",
    },
    {
      url: await listen(grpc),
      protocolBinding: "GRPC",
      protocolVersion: "1.0",
    },
  ];
  const card = AgentCard.fromJSON({
    ...CARD,
    supportedInterfaces: offers,
    capabilities: {
      streaming: claims("streaming"),
      pushNotifications: claims("push"),
      extensions: claims("extension") ? [{ uri: EXTENSION }] : [],
    },
  });
  const requestHandler = new DefaultRequestHandler(
    card,
    new InMemoryTaskStore(),
    new Player(),
  );
  app.use(
    "/.well-known/agent-card.json",
    agentCardHandler({ agentCardProvider: requestHandler, legacyCompat }),
  );
  const serving = { requestHandler, userBuilder: UserBuilder.noAuthentication };
  grpc.addService(A2AService, grpcService(serving));
  app.use("/rest", restHandler({ ...serving, legacyCompat }));
  app.use(jsonRpcHandler({ ...serving, legacyCompat }));
});
