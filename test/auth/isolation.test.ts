import {
  type DescMethod,
  type DescMethodServerStreaming,
  type DescMethodUnary,
  type JsonValue,
  toJson,
} from "@bufbuild/protobuf";
import { Code, ConnectError, type Transport } from "@connectrpc/connect";
import {
  createConnectTransport,
  createGrpcTransport,
  createGrpcWebTransport,
} from "@connectrpc/connect-node";
import { bearerInterceptor, textMessage } from "@devtool/client";
import { serveCodingAgent } from "@devtool/coding-agent";
import { temporaryDirectory } from "@devtool/internal/testing/temporary-directory";
import {
  AgentListService,
  AuditService,
  PushService,
  SlashCommandService,
  type Task,
  TaskService,
  TaskState,
  WorkspaceService,
} from "@devtool/schema";
import { A2AService, MessageQueueService } from "@devtool/schema/a2a-v1";
import type { DevtoolServer } from "@devtool/server";
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { Conversation } from "../audit/conversation.ts";
import { canName, type Names, requestNaming } from "./isolation/request.ts";
import { createIssuer, type Issuer } from "./issuer.ts";

const signal = AbortSignal.timeout(300_000);
const SERVICES = [
  TaskService,
  SlashCommandService,
  PushService,
  AuditService,
  AgentListService,
  A2AService,
  MessageQueueService,
  WorkspaceService,
];
const METHODS: readonly DescMethod[] = SERVICES.flatMap(
  ({ methods }) => methods,
);
const MISSING: Names = {
  taskId: "00000000-0000-4000-8000-000000000000",
  contextId: "no-such-context",
};

const V1 = { "a2a-version": "1.0" };

/** The outcome of a call as a client sees it: the answer or the error. */
type Seen = JsonValue;

describe("two principals (S12)", () => {
  let workspace: string;
  let server: DevtoolServer;
  let issuer: Issuer;
  let alices: Conversation;
  let bob: string;
  /** Alice's tasks: one that ended, one that asks, one that a command made. */
  let tasks: readonly Task[];

  beforeAll(async () => {
    workspace = temporaryDirectory();
    issuer = await createIssuer();
    server = await serveCodingAgent({
      workspace,
      authentication: { jwt: issuer.options },
    });
    alices = new Conversation(
      { url: server.url, token: await issuer.tokenFor("alice") },
      signal,
    );
    bob = await issuer.tokenFor("bob");
    const command = await alices.client.commands.runSlashCommand({
      command: { commandPath: ["about"] },
    });
    const ofCommand = await alices.client.tasks.getTask({
      taskId: command.result?.executionId ?? "",
    });
    tasks = [
      await alices.start("text SECRET-OF-ALICE"),
      await alices.start("write SECRET-OF-ALICE.txt x"),
      ...(ofCommand.task ? [ofCommand.task] : []),
    ];
  });
  afterAll(() => server.close());

  it("have tasks in every state that matters", () => {
    expect(tasks.map(({ state }) => state)).toEqual([
      TaskState.COMPLETED,
      TaskState.INPUT_REQUIRED,
      TaskState.COMPLETED,
    ]);
  });

  const naming = METHODS.filter(({ input }) => canName(input));

  it("can name tasks in the methods that are tried below", () => {
    expect(naming.map(({ name }) => name)).toEqual(
      expect.arrayContaining([
        "SendMessage",
        "StreamMessage",
        "GetTask",
        "CancelTask",
        "SubscribeTask",
        "RunSlashCommand",
        "ListCheckpoints",
        "GetWorkspaceSettings",
      ]),
    );
  });

  const bindings: Readonly<
    Record<string, (url: string, token: string) => Transport>
  > = {
    "Connect, HTTP/1.1, JSON": (baseUrl, token) =>
      createConnectTransport({
        baseUrl,
        httpVersion: "1.1",
        interceptors: [bearerInterceptor(token)],
        useBinaryFormat: false,
      }),
    "Connect, HTTP/2, binary": (baseUrl, token) =>
      createConnectTransport({
        baseUrl,
        httpVersion: "2",
        interceptors: [bearerInterceptor(token)],
        useBinaryFormat: true,
      }),
    gRPC: (baseUrl, token) =>
      createGrpcTransport({
        baseUrl,
        interceptors: [bearerInterceptor(token)],
      }),
    "gRPC-Web": (baseUrl, token) =>
      createGrpcWebTransport({
        baseUrl,
        httpVersion: "1.1",
        interceptors: [bearerInterceptor(token)],
      }),
  };
  for (const [binding, transportTo] of Object.entries(bindings)) {
    it.each(
      naming.map(
        (method) => [`${method.parent.name}.${method.name}`, method] as const,
      ),
    )(
      `${binding}: a foreign task is a missing one for %s`,
      async (_name, method) => {
        const transport = transportTo(server.url, bob);
        const missing = await answerTo(transport, method, MISSING);
        for (const { id: taskId, contextId } of tasks) {
          expect(
            plain(
              await answerTo(transport, method, { taskId, contextId }),
              taskId,
              contextId,
            ),
          ).toEqual(plain(missing, MISSING.taskId, MISSING.contextId));
        }
      },
    );
  }

  const rpcs: readonly {
    readonly method: string;
    readonly params: (names: Names) => JsonValue;
    readonly headers?: Record<string, string>;
  }[] = [
    {
      method: "message/send",
      params: (names) => ({ message: messageTo(names) }),
    },
    {
      method: "message/stream",
      params: (names) => ({ message: messageTo(names) }),
    },
    {
      method: "message/send",
      params: ({ contextId }) => ({ message: messageTo({ contextId }) }),
    },
    {
      method: "message/stream",
      params: ({ contextId }) => ({ message: messageTo({ contextId }) }),
    },
    {
      method: "message/send",
      params: ({ taskId }) => ({
        message: { ...messageTo({ taskId }), parts: ANSWER },
      }),
    },
    {
      method: "message/withdraw",
      params: ({ taskId }) => ({ taskId, messageId: "m" }),
    },
    {
      method: "WithdrawMessage",
      params: ({ taskId }) => ({ taskId, messageId: "m" }),
      headers: V1,
    },
    {
      method: "tasks/get",
      params: ({ taskId }) => ({ id: taskId, historyLength: 9 }),
    },
    { method: "tasks/cancel", params: ({ taskId }) => ({ id: taskId }) },
    { method: "tasks/resubscribe", params: ({ taskId }) => ({ id: taskId }) },
    ...["0", "1", "2", "999"].map((id) => ({
      method: "tasks/resubscribe",
      params: ({ taskId }: Names) => ({ id: taskId }),
      headers: { "last-event-id": id },
    })),
    ...["get", "list", "delete"].map((verb) => ({
      method: `tasks/pushNotificationConfig/${verb}`,
      params: ({ taskId }: Names) => ({
        id: taskId,
        pushNotificationConfigId: "c",
      }),
    })),
    {
      method: "tasks/pushNotificationConfig/set",
      params: ({ taskId }) => ({
        taskId,
        pushNotificationConfig: { url: "https://receiver.example/" },
      }),
    },
    ...["GetTask", "CancelTask", "SubscribeToTask"].map((method) => ({
      method,
      params: ({ taskId }: Names) => ({ id: taskId }),
      headers: V1,
    })),
    {
      method: "SubscribeToTask",
      params: ({ taskId }) => ({ id: taskId }),
      headers: { ...V1, "last-event-id": "1" },
    },
    ...["SendMessage", "SendStreamingMessage"].map((method) => ({
      method,
      params: (names: Names) => ({
        message: {
          role: "ROLE_USER",
          messageId: "v1",
          parts: [{ text: "text x" }],
          ...names,
        },
      }),
      headers: V1,
    })),
    ...["Get", "Delete"].map((verb) => ({
      method: `${verb}TaskPushNotificationConfig`,
      params: ({ taskId }: Names) => ({ taskId, id: "c" }),
      headers: V1,
    })),
    {
      method: "CreateTaskPushNotificationConfig",
      params: ({ taskId }) => ({ taskId, url: "https://receiver.example/" }),
      headers: V1,
    },
    {
      method: "ListTaskPushNotificationConfigs",
      params: ({ taskId }) => ({ taskId }),
      headers: V1,
    },
    {
      method: "ListTasks",
      params: ({ contextId }) => ({ contextId }),
      headers: V1,
    },
    { method: "commands/get", params: ({ contextId }) => ({ contextId }) },
    ...["stats", "compress", "plan"].map((words) => ({
      method: "command/execute",
      params: ({ contextId }: Names) => ({
        contextId,
        command_path: words.split(" "),
        args: "",
      }),
    })),
  ];
  it.each(
    rpcs.map(
      (rpc) =>
        [`${rpc.method} ${JSON.stringify(rpc.headers ?? {})}`, rpc] as const,
    ),
  )(
    "JSON-RPC of A2A 0.3: a foreign task is a missing one for %s",
    async (_name, { method, params, headers = {} }) => {
      const missing = await rpc(method, params(MISSING), headers);
      for (const { id: taskId, contextId } of tasks) {
        expect(
          plain(
            await rpc(method, params({ taskId, contextId }), headers),
            taskId,
            contextId,
          ),
        ).toEqual(plain(missing, MISSING.taskId, MISSING.contextId));
      }
    },
  );

  const routes: readonly {
    readonly route: string;
    readonly path: (names: Names) => string;
    readonly body?: (names: Names) => JsonValue;
  }[] = [
    ...["", "/v1"].flatMap((prefix) => [
      {
        route: `GET ${prefix}/tasks/{id}`,
        path: ({ taskId }: Names) => `${prefix}/tasks/${taskId}`,
      },
      {
        route: `GET ${prefix}/tasks/{id}:subscribe`,
        path: ({ taskId }: Names) => `${prefix}/tasks/${taskId}:subscribe`,
      },
      {
        route: `POST ${prefix}/tasks/{id}:subscribe`,
        path: ({ taskId }: Names) => `${prefix}/tasks/${taskId}:subscribe`,
      },
      {
        route: `POST ${prefix}/tasks/{id}:cancel`,
        path: ({ taskId }: Names) => `${prefix}/tasks/${taskId}:cancel`,
      },
      {
        route: `POST ${prefix}/message:withdraw`,
        path: () => `${prefix}/message:withdraw`,
        body: ({ taskId }: Names) => ({ taskId, messageId: "m" }),
      },
      {
        route: `GET ${prefix}/tasks/{id}/pushNotificationConfigs`,
        path: ({ taskId }: Names) =>
          `${prefix}/tasks/${taskId}/pushNotificationConfigs`,
      },
      {
        route: `GET ${prefix}/tasks/{id}/pushNotificationConfigs/c`,
        path: ({ taskId }: Names) =>
          `${prefix}/tasks/${taskId}/pushNotificationConfigs/c`,
      },
      {
        route: `DELETE ${prefix}/tasks/{id}/pushNotificationConfigs/c`,
        path: ({ taskId }: Names) =>
          `${prefix}/tasks/${taskId}/pushNotificationConfigs/c`,
      },
    ]),
    {
      route: "GET /tasks?contextId={id}",
      path: ({ contextId }) => `/tasks?contextId=${contextId}`,
    },
    {
      route: "GET /tasks/{id}/metadata",
      path: ({ taskId }) => `/tasks/${taskId}/metadata`,
    },
  ];
  it.each(routes.map((each) => [each.route, each] as const))(
    "HTTP+JSON: a foreign task is a missing one for %s",
    async (route, { path, body = () => ({}) }) => {
      const [method = "GET"] = route.split(" ");
      const missing = await visit(method, path(MISSING), body(MISSING));
      for (const { id: taskId, contextId } of tasks) {
        const names = { taskId, contextId };
        expect(
          plain(
            await visit(method, path(names), body(names)),
            taskId,
            contextId,
          ),
        ).toEqual(plain(missing, MISSING.taskId, MISSING.contextId));
      }
    },
  );

  it("list only their own tasks, also with a foreign position in the list", async () => {
    const { nextPageToken } = await alices.client.tasks.listTasks({
      pageSize: 1,
    });
    expect(nextPageToken).not.toBe("");
    const { client } = new Conversation(
      { url: server.url, token: await issuer.tokenFor("carol") },
      signal,
    );
    expect((await client.tasks.listTasks({})).tasks).toEqual([]);
    expect(
      (await client.tasks.listTasks({ pageToken: nextPageToken })).tasks,
    ).toEqual([]);
  });

  it("watch only their own tasks", async () => {
    const dave = new Conversation(
      { url: server.url, token: await issuer.tokenFor("dave") },
      signal,
    );
    const watched = dave.client.tasks
      .watchTasks({}, { signal })
      [Symbol.asyncIterator]();
    const { value: first } = await watched.next();
    expect(first).toMatchObject({ snapshotComplete: true });
    expect(first?.task).toBeUndefined();
    const send = async ({ client }: Conversation) =>
      (
        await client.tasks.sendMessage({
          message: textMessage(crypto.randomUUID(), "text Mine."),
        })
      ).task?.id;
    await send(alices);
    const his = await send(dave);
    const { value: next } = await watched.next();
    expect(next?.task?.id).toBe(his);
    await watched.return?.();
  });

  it("cannot begin a task that was promised to another, nor look at it", async () => {
    const headers = {
      "content-type": "application/json",
      authorization: `Bearer ${await issuer.tokenFor("alice")}`,
    };
    const promise = await fetch(`${server.url}/tasks`, {
      method: "POST",
      headers,
      body: "{}",
    });
    const promised = String(await promise.json());
    expect(await visit("GET", `/tasks/${promised}/metadata`, {})).toMatchObject(
      { status: 404 },
    );
    const metadata = { coderAgent: { kind: "agent-settings" } };
    const params = {
      message: { ...messageTo({ taskId: promised }), metadata },
    };
    expect(JSON.stringify(await rpc("message/send", params, {}))).toContain(
      "does not exist",
    );
    const message = {
      ...messageTo({ taskId: promised }),
      messageId: "alices",
      metadata,
    };
    const body = JSON.stringify({
      jsonrpc: "2.0",
      id: 1,
      method: "message/send",
      params: { message },
    });
    const begun = await fetch(server.url, { method: "POST", headers, body });
    expect(await begun.json()).toMatchObject({ result: { id: promised } });
  });

  it("do not get another's exchange by sending the same message again", async () => {
    const message = {
      messageId: "same",
      parts: [{ content: { case: "text", value: "text hello" } as const }],
    };
    const dave = new Conversation(
      { url: server.url, token: await issuer.tokenFor("dave") },
      signal,
    );
    const first = await alices.client.tasks.sendMessage({ message });
    const again = await alices.client.tasks.sendMessage({ message });
    const other = await dave.client.tasks.sendMessage({ message });
    expect(again.task?.id).toBe(first.task?.id);
    expect(other.task?.id).not.toBe(first.task?.id);
  });

  it("cannot see what the other did: no answer had a word of it, and nothing of it changed", async () => {
    for (const task of tasks) {
      expect(
        (await alices.client.tasks.getTask({ taskId: task.id })).task?.sequence,
      ).toBe(task.sequence);
    }
    expect(answers.length).toBeGreaterThan(100);
    expect(
      answers.filter((answer) => answer.includes("SECRET-OF-ALICE")),
    ).toEqual([]);
  });

  it("fail these checks on a server that treats them as one principal (sabotage)", async () => {
    const transport = bindings.gRPC?.(
      server.url,
      await issuer.tokenFor("alice"),
    );
    if (!transport) throw new Error("there is no gRPC");
    const [task] = tasks;
    const found = await answerTo(transport, TaskService.method.getTask, {
      taskId: task?.id ?? "",
      contextId: "",
    });
    expect(JSON.stringify(found)).toContain("SECRET-OF-ALICE");
    expect(
      await answerTo(transport, TaskService.method.getTask, MISSING),
    ).toMatchObject({ error: Code.NotFound });
  });

  const answers: string[] = [];

  async function answerTo(
    transport: Transport,
    method: DescMethod,
    names: Names,
  ): Promise<Seen> {
    try {
      const message = requestNaming(method.input, names);
      if (isUnary(method)) {
        const response = await transport.unary(
          method,
          signal,
          undefined,
          V1,
          message,
        );
        return noted(toJson(method.output, response.message));
      }
      if (!isServerStreaming(method)) {
        throw new Error(
          `${method.name} streams in a way that this test does not know`,
        );
      }
      const sent = async function* () {
        yield message;
      };
      const response = await transport.stream(
        method,
        signal,
        undefined,
        V1,
        sent(),
      );
      const events: JsonValue[] = [];
      for await (const event of response.message) {
        events.push(toJson(method.output, event));
      }
      return noted(events);
    } catch (reason) {
      const { code, rawMessage, details } = ConnectError.from(reason);
      return noted({
        error: code,
        message: rawMessage,
        details: details.length,
      });
    }
  }

  async function rpc(
    method: string,
    params: JsonValue,
    extra: Readonly<Record<string, string>>,
  ): Promise<Seen> {
    const body = JSON.stringify({ jsonrpc: "2.0", id: 1, method, params });
    const headers = {
      "content-type": "application/json",
      authorization: `Bearer ${bob}`,
      ...extra,
    };
    const response = await fetch(server.url, { method: "POST", headers, body });
    return noted({ status: response.status, body: await response.text() });
  }

  async function visit(
    method: string,
    path: string,
    body: JsonValue,
  ): Promise<Seen> {
    const v1 = path.startsWith("/v1/") ? {} : V1;
    const headers = {
      "content-type": "application/json",
      authorization: `Bearer ${bob}`,
      "last-event-id": "1",
      ...v1,
    };
    const response = await fetch(`${server.url}${path}`, {
      method,
      headers,
      ...(method === "POST" && { body: JSON.stringify(body) }),
    });
    return noted({ status: response.status, body: await response.text() });
  }

  function noted(answer: Seen): Seen {
    answers.push(JSON.stringify(answer));
    return answer;
  }
});

function isUnary(method: DescMethod): method is DescMethodUnary {
  return method.methodKind === "unary";
}

function isServerStreaming(
  method: DescMethod,
): method is DescMethodServerStreaming {
  return method.methodKind === "server_streaming";
}

const ANSWER: JsonValue = [
  {
    kind: "data",
    data: { tool_call_id: "c", selected_option_id: "proceed_once" },
  },
];

function messageTo(names: Partial<Names>): Record<string, JsonValue> {
  const messageId = crypto.randomUUID();
  return {
    kind: "message",
    role: "user",
    messageId,
    parts: [{ kind: "text", text: "text hello" }],
    ...names,
  };
}

/**
 * An answer without what must differ: the ids that were asked for, those that
 * were made, and times.
 */
function plain(answer: Seen, ...named: readonly string[]): string {
  const text = named.reduce(
    (rest, name) => rest.replaceAll(name, "NAMED"),
    JSON.stringify(answer),
  );
  return text
    .replaceAll(
      /[0-9a-f]{8}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{12}/g,
      "MADE",
    )
    .replaceAll(/\d{4}-\d\d-\d\dT[\d:.]+Z/g, "TIME");
}
