/** An agent on the official JavaScript SDK for A2A 0.3, in its bindings. */
import { randomUUID } from "node:crypto";
import type { Message, Part, TaskState } from "a2a-js-sdk-03";
import {
  type AgentExecutor,
  DefaultRequestHandler,
  type ExecutionEventBus,
  InMemoryTaskStore,
  type RequestContext,
} from "a2a-js-sdk-03/server";
import {
  A2AExpressApp,
  restHandler,
  UserBuilder,
} from "a2a-js-sdk-03/server/express";
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
    const status = {
      state: "submitted",
      timestamp: new Date().toISOString(),
    } as const;
    const [part] = userMessage.parts;
    const steps = stepsFor(part?.kind === "text" ? part.text : undefined);
    if (!task && openTask(steps)) {
      bus.publish({
        kind: "task",
        id: taskId,
        contextId,
        status,
        history: [userMessage],
      });
    }
    await playSteps(
      steps,
      (step) => publish(step, context, bus),
      aborted.signal,
    );
    bus.finished();
  }

  async cancelTask(taskId: string, bus: ExecutionEventBus): Promise<void> {
    this.#running.get(taskId)?.abort();
    const status = {
      state: "canceled",
      timestamp: new Date().toISOString(),
    } as const;
    bus.publish({
      kind: "status-update",
      taskId,
      contextId: "",
      status,
      final: true,
    });
    bus.finished();
  }
}

function publish(
  step: Step,
  { taskId, contextId }: RequestContext,
  bus: ExecutionEventBus,
): void {
  if (step.message !== undefined) {
    const parts = [textPart(step.message)];
    bus.publish({
      kind: "message",
      messageId: randomUUID(),
      contextId,
      role: "agent",
      parts,
    });
    return;
  }
  if (step.artifact !== undefined) {
    const artifact = {
      artifactId: randomUUID(),
      parts: [textPart(step.artifact)],
    };
    bus.publish({
      kind: "artifact-update",
      taskId,
      contextId,
      artifact,
      lastChunk: true,
    });
    return;
  }
  const state = stateOf(step);
  const message = messageOf(step);
  bus.publish({
    kind: "status-update",
    taskId,
    contextId,
    status: {
      state,
      timestamp: new Date().toISOString(),
      ...(message && { message }),
    },
    final: state !== "working",
    ...(step.kind !== undefined && {
      metadata: { [EXTENSION]: { kind: step.kind, model: "interop" } },
    }),
  });
}

function messageOf({ text, data }: Step): Message | undefined {
  const parts: Part[] = [
    ...(text === undefined ? [] : [textPart(text)]),
    ...(data ? [dataPart(data)] : []),
  ];
  if (parts.length === 0) return undefined;
  return { kind: "message", messageId: randomUUID(), role: "agent", parts };
}

function textPart(text: string): Part {
  return { kind: "text", text };
}

function dataPart(data: Readonly<Record<string, unknown>>): Part {
  return { kind: "data", data: { ...data } };
}

function stateOf({ state }: Step): TaskState {
  return STATES.find((known) => known === state) ?? "failed";
}

const STATES = ["working", "input-required", "completed"] as const;

serve((app, url) => {
  const card = {
    ...CARD,
    defaultInputModes: [...CARD.defaultInputModes],
    defaultOutputModes: [...CARD.defaultOutputModes],
    protocolVersion: "0.3.0",
    url: `${url}/`,
    additionalInterfaces: [{ url: `${url}/rest`, transport: "HTTP+JSON" }],
    capabilities: {
      streaming: claims("streaming"),
      pushNotifications: claims("push"),
      extensions: claims("extension") ? [{ uri: EXTENSION }] : [],
    },
    skills: [],
  };
  const requestHandler = new DefaultRequestHandler(
    card,
    new InMemoryTaskStore(),
    new Player(),
  );
  app.use(
    "/rest",
    restHandler({ requestHandler, userBuilder: UserBuilder.noAuthentication }),
  );
  new A2AExpressApp(requestHandler).setupRoutes(app);
});
