import { create } from "@bufbuild/protobuf";
import { timestampFromDate } from "@bufbuild/protobuf/wkt";
import {
  type ConnectError,
  createClient,
  createRouterTransport,
  type Interceptor,
} from "@connectrpc/connect";
import {
  ApprovalMode,
  type TaskEvent,
  TaskEventSchema,
  TaskState,
} from "@devtool/schema";
import { A2AService, ErrorInfoSchema } from "@devtool/schema/a2a-v1";
import { A2aRole } from "@devtool/schema/testing";
import { describe, expect, it } from "vitest";
import type { AgentExecutor } from "../../agent/agent-executor.ts";
import { WorkspaceRoots } from "../../files/workspace-roots.ts";
import { OpenTasks } from "../../fleet/open-tasks.ts";
import { createAgentListHandler } from "../../handler/agent-list-handler.ts";
import { createAuditHandler } from "../../handler/audit-handler.ts";
import { createBackupHandler } from "../../handler/backup-handler.ts";
import { OPERATOR } from "../../handler/caller.ts";
import { createCommandHandler } from "../../handler/command-handler.ts";
import { Exchanges } from "../../handler/exchange.ts";
import { guardedHandler } from "../../handler/guarded-handler.ts";
import { createPushHandler } from "../../handler/push-handler.ts";
import {
  principalKey,
  type RequestHandler,
} from "../../handler/request-handler.ts";
import { StreamLimit } from "../../handler/stream-limit.ts";
import { createTaskHandler } from "../../handler/task-handler.ts";
import { createWorkspaceHandler } from "../../handler/workspace-handler.ts";
import { MemoryTaskStore } from "../../store/memory-task-store.ts";
import { RecordedMessages } from "../../task/recorded-messages.ts";
import { ERROR_TABLE, ERROR_TABLE_1_0_0 } from "./error-table.ts";
import {
  connectErrorFrom,
  httpErrorFrom,
  InvalidRequest,
  rpcErrorFrom,
} from "./errors.ts";
import type { A2aServiceOptions } from "./options.ts";
import { createA2aService } from "./service.ts";

describe("the service of A2A 1.0", () => {
  it("refuses a message to a task that has ended where the operator chose that, and changes nothing", async () => {
    const { client, store } = await serving({ endedTask: "refuse" });
    const message = {
      messageId: "m2",
      taskId: "t1",
      role: A2aRole.USER,
      parts: [text("more")],
    };
    const reason = await failure(client.sendMessage({ message }));
    expect(reason.findDetails(ErrorInfoSchema)).toMatchObject([
      { reason: "UNSUPPORTED_OPERATION" },
    ]);
    expect((await store.list({ limit: 10 })).tasks).toHaveLength(1);
  });

  it("refuses a message that names a task of another context, also when the task has ended", async () => {
    const { client } = await serving({});
    const message = {
      messageId: "m2",
      taskId: "t1",
      contextId: "other",
      role: A2aRole.USER,
      parts: [text("more")],
    };
    expect(
      (await failure(client.sendMessage({ message }))).rawMessage,
    ).toContain("is not the context of task");
  });

  it("reports a missing extended card, and refuses callers without the extension where it is required", async () => {
    const { client } = await serving({});
    const none = await failure(client.getExtendedAgentCard({}));
    expect(none.findDetails(ErrorInfoSchema)).toMatchObject([
      { reason: "UNSUPPORTED_OPERATION" },
    ]);
    const strict = await serving({ extensionRequired: true });
    const needed = await failure(strict.client.getTask({ id: "t1" }));
    expect(needed.findDetails(ErrorInfoSchema)).toMatchObject([
      { reason: "EXTENSION_SUPPORT_REQUIRED" },
    ]);
  });

  it("refuses every way to ask for notifications where there are none, and starts nothing (PUSH-1)", async () => {
    const { client, store } = await serving({});
    const config = { taskId: "t1", url: "https://example.com/hook" };
    const message = {
      messageId: "m2",
      role: A2aRole.USER,
      parts: [text("more")],
    };
    const configuration = { taskPushNotificationConfig: config };
    const refused = [
      client.createTaskPushNotificationConfig(config),
      client.listTaskPushNotificationConfigs({ taskId: "t1" }),
      client.sendMessage({ message, configuration }),
      drained(client.sendStreamingMessage({ message, configuration })),
    ];
    for (const reason of await Promise.all(refused.map(failure))) {
      expect(reason.findDetails(ErrorInfoSchema)).toMatchObject([
        { reason: "PUSH_NOTIFICATION_NOT_SUPPORTED" },
      ]);
    }
    expect((await store.list({ limit: 10 })).tasks).toHaveLength(1);
  });

  it("uses the error codes of 1.0.0 where the operator chose them", async () => {
    const { client } = await serving({ errorTable: ERROR_TABLE_1_0_0 });
    const reason = await failure(client.cancelTask({ id: "t1" }));
    expect(httpErrorFrom(reason, ERROR_TABLE_1_0_0).status).toBe(409);
    expect(httpErrorFrom(reason, ERROR_TABLE).status).toBe(400);
    expect(rpcErrorFrom(reason, ERROR_TABLE).code).toBe(-32002);
  });
});

describe("an error", () => {
  it("hides the message of an unexpected error", () => {
    const error = connectErrorFrom(new Error("secret"), ERROR_TABLE);
    expect(
      JSON.stringify([
        httpErrorFrom(error, ERROR_TABLE),
        rpcErrorFrom(error, ERROR_TABLE),
      ]),
    ).not.toContain("secret");
    expect(httpErrorFrom(error, ERROR_TABLE).status).toBe(500);
  });

  it("names all invalid fields of a request", () => {
    const violations = ["a", "b"].map((field) => ({
      field,
      description: "is missing",
    }));
    const { body } = httpErrorFrom(
      connectErrorFrom(new InvalidRequest(violations), ERROR_TABLE),
      ERROR_TABLE,
    );
    expect(body).toMatchObject({
      error: {
        status: "INVALID_ARGUMENT",
        message: "a is missing; b is missing",
      },
    });
  });
});

/** Serves a store that holds one task, which has ended. */
async function serving(more: Partial<A2aServiceOptions>) {
  const store = new MemoryTaskStore();
  await store.append({
    events: [event(1n, TaskState.SUBMITTED), event(2n, TaskState.COMPLETED)],
  });
  const handler = handlerOf(store);
  const service = createA2aService({
    handler,
    extensionRequired: false,
    ...more,
  });
  const asOperator: Interceptor = (next) => (request) => {
    request.contextValues.set(principalKey, OPERATOR.principal);
    return next(request);
  };
  const router = { interceptors: [asOperator] };
  const transport = createRouterTransport(
    ({ service: serve }) => serve(A2AService, service),
    { router },
  );
  return { client: createClient(A2AService, transport), store };
}

function handlerOf(store: MemoryTaskStore): RequestHandler {
  const now = (): Date => new Date(0);
  const registry = new OpenTasks({
    store,
    createExecutor: () => idle,
    now,
  });
  const exchanges = new Exchanges({
    registry,
    store,
    messages: new RecordedMessages({ store, now, retryWindowMs: 0 }),
    nextId: () => "t2",
    maxParts: 10,
    workspaceRoots: new WorkspaceRoots([process.cwd()]),
    workspace: process.cwd(),
    clientMcpServers: "none",
    agents: {
      resolve: String,
      assertFollowed: () => undefined,
      assertCapable: async () => undefined,
      checkerOf: () => undefined,
      operatorModeOf: () => ApprovalMode.UNSPECIFIED,
    },
    dataDirectory: undefined,
  });
  const streams = new StreamLimit(10);
  const methods = {
    tasks: createTaskHandler(exchanges, store, streams),
    commands: createCommandHandler(exchanges, () => {
      throw new Error("there are no commands here");
    }),
    push: createPushHandler(),
    audit: createAuditHandler(store),
    backups: createBackupHandler(store, undefined),
    agents: createAgentListHandler({
      agents: [],
      workspace: "",
      workspaceRoots: [],
      sources: {
        register: () => Promise.reject(new Error("nothing is registered")),
        unregister: () => Promise.resolve(),
        registered: () => Promise.resolve([]),
        list: () => Promise.resolve([]),
      },
      modelsOf: () => Promise.resolve([]),
    }),
    workspaces: createWorkspaceHandler(exchanges, () => undefined),
  };
  return {
    ...guardedHandler(methods, { interceptors: [], operations: undefined }),
    streams,
    offers: () => Promise.resolve({ tools: [], mcpServers: [] }),
    recipientOf: () => Promise.resolve(""),
    assertKept: () => Promise.resolve(),
  };
}

/** An agent that does nothing. */
const idle: AgentExecutor = {
  modelFor: () => "",
  async *execute() {},
  [Symbol.asyncDispose]: () => Promise.resolve(),
};

function event(sequence: bigint, state: TaskState): TaskEvent {
  const message = { messageId: "m1", parts: [text("first")] };
  const opening = {
    case: "created" as const,
    value: { principal: "local", message },
  };
  const payload =
    sequence === 1n ? opening : { case: "stateChange" as const, value: {} };
  return create(TaskEventSchema, {
    sequence,
    taskId: "t1",
    contextId: "c1",
    time: timestampFromDate(new Date(0)),
    state,
    payload,
  });
}

function text(value: string) {
  return { content: { case: "text" as const, value } };
}

async function drained(stream: AsyncIterable<unknown>): Promise<void> {
  for await (const _item of stream);
}

/** Returns the error of a call. Rejects when the call succeeds. */
async function failure(call: Promise<unknown>): Promise<ConnectError> {
  return call.then(
    () => Promise.reject(new Error("the call did not fail")),
    (reason: ConnectError) => reason,
  );
}
