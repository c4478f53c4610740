import { createServer as createHttpServer } from "node:http";
import { setTimeout as delay } from "node:timers/promises";
import { create, isMessage } from "@bufbuild/protobuf";
import { Code, ConnectError, type Interceptor } from "@connectrpc/connect";
import { createConnectTransport } from "@connectrpc/connect-node";
import {
  confirmationPart,
  createDevtoolClient,
  pendingToolCalls,
  streamMessage,
  textMessage,
} from "@devtool/client";
import { serveCodingAgent } from "@devtool/coding-agent";
import { temporaryDirectory } from "@devtool/internal/testing/temporary-directory";
import { mcp } from "@devtool/mcp/server";
import {
  emptyTask,
  SendMessageRequestSchema,
  SessionSettingsSchema,
  TaskService,
  TaskState,
} from "@devtool/schema";
import {
  type Agent,
  createServer,
  DevtoolError,
  defaultDialects,
  type Observer,
  type Operation,
} from "@devtool/server";
import type { OperationEnd } from "@devtool/server/agent";
import { openStore } from "@devtool/server/operator";
import { describe, expect, it } from "vitest";
import { CLIENTS } from "../client-of.ts";
import { bindingsOf } from "../conformance/tck/bindings.ts";
import { modernRequest } from "../mcp/modern-request.ts";

/** What an observer has heard. */
class Heard {
  readonly begun: Operation[] = [];
  readonly ended = new Map<string, OperationEnd[]>();

  readonly observer: Observer = (operation) => {
    this.begun.push(operation);
    const ends: OperationEnd[] = [];
    this.ended.set(operation.id, ends);
    return (end) => {
      ends.push(end);
    };
  };

  of(kind: Operation["kind"]): readonly Operation[] {
    return this.begun.filter((each) => each.kind === kind);
  }

  /** The outcomes of the operations of a kind, in the order of their begin. */
  outcomes(kind: Operation["kind"]): readonly string[] {
    return this.of(kind).map(({ id, name }) => {
      const outcomes = this.ended.get(id)?.map(({ outcome }) => outcome) ?? [];
      return `${name} ${outcomes.join("+")}`;
    });
  }
}

/** An agent that does as its prompt says: `say`, `fail` or `wait`. */
const agent: Agent = {
  about: { name: "Own", description: "Does as it is told." },
  open: () => ({
    createExecutor: () => ({
      async *execute(turn, signal) {
        const content = turn.prompt?.parts[0]?.content;
        const word = content?.case === "text" ? content.value : "";
        if (word === "fail") throw new Error("broken");
        if (word === "wait") {
          await new Promise((_, reject) => {
            signal.addEventListener("abort", () => reject(signal.reason));
          });
        }
        yield* turn.say(word);
      },
    }),
  }),
};

const limit = (): AbortSignal => AbortSignal.timeout(30_000);

describe("an observer", () => {
  it("hears of a turn, its steps, calls and questions below its request", async () => {
    const heard = new Heard();
    await using server = await serveCodingAgent({
      workspace: temporaryDirectory(),
      observer: heard.observer,
    });
    const { tasks } = createDevtoolClient(await server.transport());
    const script =
      "read missing.txt\nnext\nwrite a.txt A\nnext\nwrite b.txt B\ntext Done.";
    const { task } = await tasks.sendMessage({
      message: textMessage("first", script),
    });
    for (const [id, option] of Object.entries({
      second: "proceed_once",
      third: "cancel",
    })) {
      const current = await tasks.getTask({ taskId: task?.id ?? "" });
      const [call] = pendingToolCalls(current.task ?? emptyTask());
      const parts = call ? [confirmationPart(call, option)] : [];
      const message = { messageId: id, parts };
      await tasks.sendMessage({ message, taskId: task?.id ?? "" });
    }
    await untilEnded(heard);

    expect(heard.outcomes("turn")).toEqual(["devtool succeeded"]);
    expect(heard.outcomes("step")).toEqual(Array(4).fill("scripted succeeded"));
    expect(heard.outcomes("call")).toEqual([
      "read_file failed",
      "write_file succeeded",
    ]);
    expect(heard.outcomes("question")).toEqual(
      Array(2).fill("write_file succeeded"),
    );
    const [turn] = heard.of("turn");
    const [request] = heard.of("request");
    expect(turn).toMatchObject({
      parentId: request?.id,
      taskId: task?.id,
      subjectId: "first",
      principal: request?.principal,
    });
    for (const kind of ["step", "call", "question"] as const) {
      for (const each of heard.of(kind)) {
        expect(each).toMatchObject({ parentId: turn?.id, taskId: task?.id });
      }
    }
  });

  it("hears how turns, requests and streams end", async () => {
    const heard = new Heard();
    const errors: unknown[] = [];
    await using server = await createServer({
      agents: { own: agent },
      workspace: temporaryDirectory(),
      observer: heard.observer,
      onError: (reason) => errors.push(reason),
    });
    const client = createDevtoolClient(await server.transport());
    const send = (word: string) =>
      client.tasks.sendMessage({ message: textMessage(word, word) });
    await send("say");
    await send("fail");
    await expect(client.tasks.getTask({ taskId: "none" })).rejects.toThrow();
    const leaving = new AbortController();
    const stream = streamMessage(
      client,
      { message: textMessage("wait", "wait") },
      leaving.signal,
    );
    let waiting = "";
    await expect(async () => {
      for await (const { taskId } of stream) {
        waiting = taskId;
        leaving.abort();
      }
    }).rejects.toThrow();
    await client.tasks.cancelTask({ taskId: waiting });
    await untilEnded(heard);

    expect(heard.outcomes("turn")).toEqual([
      "own succeeded",
      "own failed",
      "own canceled",
    ]);
    expect(heard.outcomes("request")).toEqual([
      "SendMessage succeeded",
      "SendMessage succeeded",
      "GetTask failed",
      "StreamMessage canceled",
      "CancelTask succeeded",
    ]);
    expect(errors).toEqual([expect.objectContaining({ message: "broken" })]);
  });

  it.for([
    "Connect",
    "A2A 1.0 over JSON-RPC",
    "A2A 1.0 over gRPC",
    "A2A 0.3 over JSON-RPC",
    "A2A 0.3 over HTTP+JSON",
  ] as const)("hears how streams end over %s", async (binding) => {
    const heard = new Heard();
    await using server = await createServer({
      agents: { own: agent },
      workspace: temporaryDirectory(),
      observer: heard.observer,
    });
    const client = CLIENTS[binding](server);
    const ends = (): OperationEnd[] =>
      heard.of("request").flatMap(({ id, name }) => {
        return name.startsWith("Stream") || name === "SendStreamingMessage"
          ? (heard.ended.get(id) ?? [])
          : [];
      });
    const said = { message: textMessage("say", "say") };
    let taskId = "";
    for await (const event of streamMessage(client, said, limit())) {
      taskId = event.taskId;
    }
    const leaving = new AbortController();
    const waited = { message: textMessage("wait", "wait") };
    await expect(async () => {
      for await (const _ of streamMessage(client, waited, leaving.signal)) {
        leaving.abort();
      }
    }).rejects.toThrow();
    await expect.poll(ends).toEqual([
      {
        outcome: "succeeded",
        facts: expect.objectContaining({ taskId, state: TaskState.COMPLETED }),
      },
      { outcome: "canceled", facts: expect.anything() },
    ]);
  });

  it("is told of the kinds of operations alone that it names", async () => {
    const heard = new Heard();
    const kinds = new Set(["request", "call"] as const);
    await using server = await createServer({
      agents: { own: agent },
      workspace: temporaryDirectory(),
      observer: Object.assign(heard.observer, { kinds }),
    });
    const { tasks } = createDevtoolClient(await server.transport());
    await tasks.sendMessage({ message: textMessage("say", "say") });
    expect(heard.begun.map(({ kind }) => kind)).toEqual(["request"]);
  });

  it("hears over which binding a request came", async () => {
    const heard = new Heard();
    await using server = await createServer({
      agents: { own: agent },
      workspace: temporaryDirectory(),
      observer: heard.observer,
      dialects: [mcp(), ...defaultDialects()],
    });
    for (const [name, binding] of [
      ["Connect", "connect"],
      ["gRPC", "grpc"],
      ["gRPC-Web", "grpc-web"],
      ["A2A 1.0 over JSON-RPC", "a2a-1.0/jsonrpc"],
      ["A2A 1.0 over HTTP+JSON", "a2a-1.0/http+json"],
      ["A2A 1.0 over gRPC", "a2a-1.0/grpc"],
      ["A2A 0.3 over JSON-RPC", "a2a-0.3/jsonrpc"],
      ["A2A 0.3 over HTTP+JSON", "a2a-0.3/http+json"],
    ] as const) {
      const { tasks } = CLIENTS[name](server);
      await expect(tasks.getTask({ taskId: name })).rejects.toThrow();
      expect(heard.begun.at(-1)).toMatchObject({
        ...{ kind: "request", name: "GetTask", taskId: name, binding },
        ...{ principal: "local", peer: "" },
      });
    }
    const { tasks } = createDevtoolClient(await server.transport());
    await tasks.listTasks({});
    expect(heard.begun.at(-1)).toMatchObject({ binding: "in-process" });
    const authorization = `Bearer ${server.token}`;
    const call = (path: string, init?: RequestInit) =>
      fetch(server.url + path, { headers: { authorization }, ...init });
    await call("/listCommands");
    expect(heard.begun.at(-1)).toMatchObject({ binding: "gemini-cli" });
    const threadId = "thread";
    await call("/ag-ui", {
      method: "POST",
      headers: { authorization, "content-type": "application/json" },
      body: JSON.stringify({
        ...{ threadId, runId: "run", state: {}, tools: [], context: [] },
        messages: [{ id: "m", role: "user", content: "say" }],
        forwardedProps: {},
      }),
    }).then((response) => response.text());
    const agUi = heard.of("request").filter((each) => each.binding === "ag-ui");
    expect(agUi).not.toEqual([]);
    await modernRequest(server, { method: "resources/list" });
    expect(heard.begun.at(-1)).toMatchObject({ binding: "mcp" });
  });

  it("hears of requests that reach no method, and from where", async () => {
    const heard = new Heard();
    await using server = await createServer({
      agents: { own: agent },
      workspace: temporaryDirectory(),
      observer: heard.observer,
    });
    const authorization = `Bearer ${server.token}`;
    for (const [path, headers, outcome] of [
      ["/healthz", {}, undefined],
      ["/tasks?secret=1", {}, Code.Unauthenticated],
      ["/tasks", { authorization: "Bearer guess" }, Code.Unauthenticated],
      [
        "/",
        { authorization, origin: "http://x.example" },
        Code.PermissionDenied,
      ],
      ["/nothing", { authorization }, Code.NotFound],
    ] as const) {
      const response = await fetch(server.url + path, { headers });
      await response.text();
      await untilEnded(heard);
      const last = heard.begun.at(-1);
      expect(last).toMatchObject({
        ...{ kind: "request", name: `GET ${path.split("?")[0]}` },
        ...{ binding: "http", principal: "" },
        peer: expect.stringMatching(/127\.0\.0\.1$/),
      });
      const [end] = heard.ended.get(last?.id ?? "") ?? [];
      expect(end?.error).toEqual(
        outcome && expect.objectContaining({ code: outcome }),
      );
    }
  });

  it("hears from when to when the server accepts no work", async () => {
    const heard = new Heard();
    let problem: string | undefined;
    await using server = await createServer({
      agents: { own: agent },
      workspace: temporaryDirectory(),
      observer: heard.observer,
      openStore: async () => {
        const store = await openStore({});
        store.assertWritable = async () => {
          if (problem === undefined) return;
          throw new DevtoolError(problem, Code.Unavailable);
        };
        return store;
      },
    });
    const probe = async (): Promise<number> => {
      // A result is kept for half a second.
      await delay(550);
      const response = await fetch(`${server.url}/readyz`);
      await response.text();
      return response.status;
    };
    expect(await probe()).toBe(200);
    problem = "the disk is full";
    expect([await probe(), await probe()]).toEqual([503, 503]);
    expect(heard.outcomes("outage")).toEqual(["the disk is full "]);
    problem = undefined;
    expect(await probe()).toBe(200);
    expect(heard.outcomes("outage")).toEqual(["the disk is full succeeded"]);
  });

  it("hears of posts, with the origin of their address alone", async () => {
    const heard = new Heard();
    await using hook = await webhook([500, 200]);
    await using server = await createServer({
      agents: { own: agent },
      workspace: temporaryDirectory(),
      pushTargets: ["127.0.0.1:*"],
      observer: heard.observer,
    });
    const { tasks } = createDevtoolClient(await server.transport());
    await tasks.sendMessage({
      message: textMessage("say", "say"),
      pushConfig: { id: "hook", url: `${hook.url}/?secret=1` },
    });
    await expect.poll(() => heard.outcomes("post").length).toBeGreaterThan(1);
    await untilEnded(heard);
    expect(heard.outcomes("post").slice(0, 2)).toEqual([
      `${hook.url} failed`,
      `${hook.url} succeeded`,
    ]);
    expect(heard.of("post")[0]).toMatchObject({ subjectId: "hook" });
  });

  it("disturbs nothing when it throws, which the operator sees", async () => {
    const errors: unknown[] = [];
    await using server = await createServer({
      agents: { own: agent },
      workspace: temporaryDirectory(),
      observer: ({ kind }) => {
        if (kind === "turn") throw new Error("at the begin");
        return () => {
          throw new Error(`at the end of ${kind}`);
        };
      },
      onError: (reason) => errors.push(String(reason)),
    });
    const { tasks } = createDevtoolClient(await server.transport());
    const { task } = await tasks.sendMessage({
      message: textMessage("say", "say"),
    });
    expect(task?.state).toBe(TaskState.COMPLETED);
    expect(errors).toContain("Error: at the begin");
    expect(errors).toContain("Error: at the end of append");
    expect(errors).toContain("Error: at the end of request");
  });
});

describe("interceptors", () => {
  const MESSAGE = {
    messageId: "m",
    role: "ROLE_USER",
    parts: [{ text: "say" }],
  };

  it("refuse a request in each binding, in its own spelling", async () => {
    const seen: string[] = [];
    const refuse: Interceptor = (next) => async (request) => {
      seen.push(request.method.name);
      if (!request.stream && request.method.name === "SendMessage") {
        throw new ConnectError("closed on Sundays", Code.PermissionDenied);
      }
      return next(request);
    };
    await using server = await createServer({
      agents: { own: agent },
      workspace: temporaryDirectory(),
      interceptors: [refuse],
    });
    const authorization = `Bearer ${server.token}`;
    for (const binding of bindingsOf(server.url, { authorization })) {
      const { result, failure } = await binding.call("SendMessage", {
        message: MESSAGE,
      });
      expect([binding.name, result]).toEqual([binding.name, undefined]);
      expect(failure).toBeDefined();
    }
    expect(seen).toEqual(Array(3).fill("SendMessage"));
    const { tasks } = createDevtoolClient(await server.transport());
    await expect(
      tasks.sendMessage({ message: textMessage("m", "say") }),
    ).rejects.toThrow("closed on Sundays");
    expect((await tasks.listTasks({})).tasks).toEqual([]);
  });

  it("replace messages and answers, the first one outermost", async () => {
    const { output } = TaskService.method.sendMessage;
    const named =
      (name: string): Interceptor =>
      (next) =>
      async (request) => {
        if (isMessage(request.message, SendMessageRequestSchema)) {
          const [part] = request.message.message?.parts ?? [];
          if (part?.content.case === "text") part.content.value += name;
        }
        const response = await next(request);
        if (isMessage(response.message, output)) {
          const { task } = response.message;
          if (task) task.title += name;
        }
        return response;
      };
    await using server = await createServer({
      agents: { own: agent },
      workspace: temporaryDirectory(),
      interceptors: [named("1"), named("2")],
    });
    const client = createDevtoolClient(await server.transport());
    const { task } = await client.tasks.sendMessage({
      message: textMessage("m", "say"),
    });
    expect(task?.title).toMatch(/21$/);
    expect(JSON.stringify(task?.history)).toContain("say12");
    let text = "";
    for await (const { payload } of streamMessage(
      client,
      { message: textMessage("n", "stream") },
      limit(),
    )) {
      if (payload.case === "text") text += payload.value.text;
    }
    expect(text).toBe("stream");
  });

  it("cannot give a caller a right that it lacks", async () => {
    const forge: Interceptor = (next) => async (request) => {
      if (isMessage(request.message, SendMessageRequestSchema)) {
        request.message.sessionSettings = create(SessionSettingsSchema, {
          agentOptions: { mode: "yolo" },
        });
      }
      return next(request);
    };
    await using server = await createServer({
      agents: { own: { ...agent, servesAnonymous: true } },
      anonymous: "admit",
      workspace: temporaryDirectory(),
      interceptors: [forge],
    });
    const client = createDevtoolClient(
      createConnectTransport({ baseUrl: server.url, httpVersion: "1.1" }),
    );
    await expect(
      client.tasks.sendMessage({ message: textMessage("m", "say") }),
    ).rejects.toThrow("approve");
  });
});

/** Waits until each operation has ended, once. */
async function untilEnded({ begun, ended }: Heard): Promise<void> {
  await expect
    .poll(() => begun.filter(({ id }) => ended.get(id)?.length !== 1))
    .toEqual([]);
}

/** A webhook that answers with these statuses, and then with the last one. */
async function webhook(statuses: readonly number[]) {
  let count = 0;
  const server = createHttpServer((request, response) => {
    response.statusCode = statuses[count++] ?? statuses.at(-1) ?? 200;
    request.resume().on("end", () => response.end());
  });
  await new Promise<void>((resolve) =>
    server.listen(0, "127.0.0.1", () => resolve()),
  );
  const address = server.address();
  const port = typeof address === "object" ? address?.port : undefined;
  return {
    url: `http://127.0.0.1:${port}`,
    [Symbol.asyncDispose]: async () => {
      server.closeAllConnections();
      await new Promise((resolve) => server.close(resolve));
    },
  };
}
