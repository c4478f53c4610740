import { type ChildProcess, spawn } from "node:child_process";
import { EventEmitter, once } from "node:events";
import { join } from "node:path";
import { PassThrough } from "node:stream";
import { create } from "@bufbuild/protobuf";
import { listenOptions, pushListen } from "@devtool/cli/testing";
import { type DevtoolClient, textMessage } from "@devtool/client";
import {
  notificationEvent,
  notificationKeys,
  SeenEvents,
  verifyNotification,
} from "@devtool/client/webhook";
import {
  type CodingServerOptions,
  serveCodingAgent,
} from "@devtool/coding-agent";
import { temporaryDirectory } from "@devtool/internal/testing/temporary-directory";
import { createMcp } from "@devtool/mcp";
import { EXTENSION_URI, PushFormat, type TaskEvent } from "@devtool/schema";
import { ServerConfigSchema } from "@devtool/schema/operator";
import type { DevtoolServer } from "@devtool/server";
import { afterEach, beforeEach, describe, expect, it } from "vitest";
import { clientOf } from "../client-of.ts";
import { LEFT_TO_CI } from "../depth.ts";
import { freePort } from "../free-port.ts";
import { callRpc } from "../post-json.ts";
import { type Received, type Receiver, receive } from "./receiver.ts";

describe("the notifications of a server (PUSH-1)", () => {
  let directory: string;
  let receiver: Receiver;
  beforeEach(async () => {
    directory = temporaryDirectory();
    receiver = await receive();
  });
  afterEach(() => receiver[Symbol.asyncDispose]());

  it("are the frames of the exchange whose message asked for them, each once, in order, signed for the receiver", async () => {
    await using server = await serve();
    const task = await send(server, "text hello", {
      pushNotificationConfig: { url: receiver.url, token: "t0k" },
    });
    const streamed = await eventsOf(clientOf(server), task.id);
    await receiver.reached(streamed.length);
    const keys = notificationKeys(
      new URL("/.well-known/jwks.json", server.url),
    );
    const seen = new SeenEvents();
    const expected = {
      keys,
      audience: receiver.url,
      issuer: server.url,
      token: "t0k",
      now: Date.now,
      seen,
    };
    const verified = await Promise.all(
      receiver.received.map((post) => verifyNotification(post, expected)),
    );
    expect(verified.map(({ eventId }) => eventId)).toEqual(
      streamed.map(({ sequence }) => `${task.id}:${sequence}`),
    );
    expect(
      verified.map(notificationEvent).map((event) => event?.payload.case),
    ).toEqual(streamed.map(({ payload }) => payload.case));
    expect(JSON.parse(receiver.received[0]?.body ?? "")).toMatchObject({
      kind: "task",
      id: task.id,
    });
    expect(JSON.parse(receiver.received.at(-1)?.body ?? "")).toMatchObject({
      kind: "status-update",
      final: true,
    });
  });

  it("B26: do not give the secrets of a config back, in any dialect, and keep them", async () => {
    await using server = await serve();
    const { push } = clientOf(server);
    const task = await send(server, "text one", {});
    const { id: taskId } = task;
    const credentials = "s3cret-2";
    const secrets = { token: "s3cret-1", url: receiver.url, id: "c" };
    const v03 = (authentication: object) => ({
      taskId,
      pushNotificationConfig: { ...secrets, authentication },
    });
    const basic = { scheme: "Basic", credentials };
    const one = { taskId, id: "c" };
    const name = "tasks/pushNotificationConfig";
    const answers = [
      await rpc(
        server,
        `${name}/set`,
        v03({ schemes: ["Basic"], credentials }),
      ),
      await rpc(server, `${name}/get`, { id: taskId }),
      await rpc(server, `${name}/list`, { id: taskId }),
      await rpc(
        server,
        "CreateTaskPushNotificationConfig",
        { taskId, ...secrets, authentication: basic },
        VERSION_1,
      ),
      await rpc(server, "GetTaskPushNotificationConfig", one, VERSION_1),
      await rpc(
        server,
        "ListTaskPushNotificationConfigs",
        { taskId },
        VERSION_1,
      ),
      await push.setPushConfig({
        config: { taskId, ...secrets, authentication: basic },
      }),
      await push.getPushConfig({ taskId, configId: "c" }),
      await push.listPushConfigs({ taskId }),
    ].map((answer) => JSON.stringify(answer));
    for (const answer of answers) {
      expect(answer).not.toContain("s3cret");
      expect(answer.split('"[hidden]"')).toHaveLength(3);
    }
    for (const sent of [
      { ...secrets, token: "[hidden]" },
      { ...secrets, authentication: { ...basic, credentials: "[hidden]" } },
    ]) {
      await expect(
        push.setPushConfig({ config: { taskId, ...sent } }),
      ).rejects.toThrow(
        /"\[hidden\]" is not the secret: answers hide it: give the secret itself/,
      );
    }
    await send(server, "text two", {}, EXTENSION, taskId);
    await receiver.reached(1);
    expect(receiver.received[0]?.headers).toMatchObject({
      "x-a2a-notification-token": "s3cret-1",
      authorization: "Basic s3cret-2",
    });
  });

  it("hold what A2A alone has words for, for a client without the extension", async () => {
    await using server = await serve();
    await send(
      server,
      "text hello",
      { pushNotificationConfig: { url: receiver.url } },
      {},
    );
    await receiver.reached(4);
    const bodies = receiver.received.map(({ body }) => body);
    expect(bodies.join()).toContain("hello");
    expect(bodies.slice(1).join()).not.toContain(EXTENSION_URI);
  });

  it("come with the authentication of the config: bearer, basic, or the server's own token", async () => {
    await using server = await serve();
    const task = await send(server, "text one", {});
    const schemes = [
      ["Bearer", "abc", "Bearer abc"],
      ["Basic", "user:word", "Basic dXNlcjp3b3Jk"],
      ["Bearer", undefined, /^Bearer [\w-]+\.[\w-]+\.[\w-]+$/],
    ] as const;
    for (const [scheme, credentials, wanted] of schemes) {
      const authentication = {
        schemes: [scheme],
        ...(credentials !== undefined && { credentials }),
      };
      await rpc(server, "tasks/pushNotificationConfig/set", {
        taskId: task.id,
        pushNotificationConfig: { id: "c", url: receiver.url, authentication },
      });
      const before = receiver.received.length;
      await send(server, "text more", {}, EXTENSION, task.id);
      await receiver.reached(before + 1);
      expect(receiver.received[before]?.headers.authorization).toMatch(wanted);
    }
  });

  it("are configured by A2A's methods: set, get, list, delete", async () => {
    await using server = await serve();
    const task = await send(server, "text one", {});
    const set = (pushNotificationConfig: object) =>
      rpc(server, "tasks/pushNotificationConfig/set", {
        taskId: task.id,
        pushNotificationConfig,
      });
    const first = await set({ url: receiver.url, token: "a" });
    expect(first.result).toMatchObject({
      taskId: task.id,
      pushNotificationConfig: { url: receiver.url, token: "[hidden]" },
    });
    const again = await set({ url: receiver.url, token: "b" });
    expect(again.result.pushNotificationConfig.id).toBe(
      first.result.pushNotificationConfig.id,
    );
    await set({ id: "mine", url: `${receiver.url}/2` });
    const list = await rpc(server, "tasks/pushNotificationConfig/list", {
      id: task.id,
    });
    expect(
      list.result.map(
        (one: { pushNotificationConfig: { id: string } }) =>
          one.pushNotificationConfig.id,
      ),
    ).toEqual([first.result.pushNotificationConfig.id, "mine"]);
    const named = { id: task.id, pushNotificationConfigId: "mine" };
    expect(
      (await rpc(server, "tasks/pushNotificationConfig/get", named)).result
        .pushNotificationConfig.id,
    ).toBe("mine");
    expect(
      (await rpc(server, "tasks/pushNotificationConfig/delete", named)).result,
    ).toBeNull();
    expect(
      (await rpc(server, "tasks/pushNotificationConfig/delete", named)).result,
    ).toBeNull();
    expect(
      (await rpc(server, "tasks/pushNotificationConfig/get", named)).error.code,
    ).toBe(-32001);
    for (let count = 1; count < 10; count++) {
      expect(
        (await set({ id: `c${count}`, url: receiver.url })).error,
      ).toBeUndefined();
    }
    const more = await set({ id: "more", url: receiver.url });
    expect(more.error).toMatchObject({
      code: -32602,
      message: expect.stringContaining("at most 10"),
    });
    const foreign = await rpc(server, "tasks/pushNotificationConfig/list", {
      id: "unknown",
    });
    expect(foreign.error.code).toBe(-32001);
  });

  it("a config that cannot be used changes nothing: no task is made", async () => {
    await using server = await serve({ pushTargets: [] });
    const { error } = await rpc(server, "message/send", {
      message: messageOf("text one"),
      configuration: { pushNotificationConfig: { url: receiver.url } },
    });
    expect(error.code).toBe(-32602);
    expect((await clientOf(server).tasks.listTasks({})).tasks).toEqual([]);
  });

  it.each(["http", "https"])(
    "a receiver on this machine over %s is refused with the flag that allows it",
    async (scheme) => {
      await using closed = await serve({ pushTargets: [] });
      const url = receiver.url.replace("http:", `${scheme}:`);
      const send = (server: DevtoolServer) =>
        rpc(server, "message/send", {
          message: messageOf("text one"),
          configuration: { pushNotificationConfig: { url } },
        });
      const { error } = await send(closed);
      const flag = /--push-target (\S+) \(push_targets\)/.exec(
        error.message,
      )?.[1];
      expect(flag).toBe(receiver.target);
      await using open = await serve(
        await listenOptions(
          { port: "0", pushTarget: [flag ?? ""] },
          { config: create(ServerConfigSchema), directory: "" },
        ),
      );
      expect((await send(open)).error).toBeUndefined();
    },
  );

  it("end at a receiver that answers 410: the task's log says so, and setting the config again goes on", async () => {
    await using server = await serve();
    const client = clientOf(server);
    receiver.answerWith((response) => response.writeHead(410).end());
    const task = await send(server, "text one", {
      pushNotificationConfig: { id: "c", url: `${receiver.url}?key=s3cret` },
    });
    const notice = await noticeOf(client, task.id);
    expect(notice).toMatch(
      /^notifications "c" to "127\.0\.0\.1:\d+" have ended: it answered 410: set them again/,
    );
    expect(notice).not.toContain("s3cret");
    expect(receiver.received).toHaveLength(1);
    const { config } = await client.push.getPushConfig({
      taskId: task.id,
      configId: "c",
    });
    expect(config?.endedReason).toBe("it answered 410");
    receiver.answerWith((response) => response.writeHead(204).end());
    await client.push.setPushConfig(config ? { config } : {});
    const log = await eventsOf(client, task.id);
    await receiver.reached(1 + log.length);
    expect(eventIds(receiver.received.slice(1))).toEqual(
      log.map(({ sequence }) => `${task.id}:${sequence}`),
    );
  });

  it("go on after a kill of the server with the event that was not taken", async () => {
    const data = join(directory, "data");
    const child = await serveProcess(data, receiver.target);
    receiver.answerWith((response, { headers }) => {
      const sequence = String(headers["devtool-event-id"]).split(":")[1];
      // The third is never answered: the server dies while it waits.
      if (sequence === "3") {
        child.process.kill("SIGKILL");
      } else {
        response.writeHead(204).end();
      }
    });
    const ended = once(child.process, "exit");
    const sent = send(child, "text one", {
      pushNotificationConfig: { url: receiver.url },
    }).catch(() => undefined);
    await ended;
    await sent;
    const before = receiver.received.length;
    expect(eventIds(receiver.received).map((id) => id.split(":")[1])).toEqual([
      "1",
      "2",
      "3",
    ]);
    receiver.answerWith((response) => response.writeHead(204).end());
    await using server = await serve({ dataDirectory: data });
    const [task] = (await clientOf(server).tasks.listTasks({})).tasks;
    const log = await eventsOf(clientOf(server), task?.id ?? "");
    await receiver.reached(before + log.length - 2);
    expect(eventIds(receiver.received)).toEqual(
      [
        "1",
        "2",
        "3",
        ...log.slice(2).map(({ sequence }) => String(sequence)),
      ].map((sequence) => `${task?.id}:${sequence}`),
    );
  });

  it.skipIf(LEFT_TO_CI !== "")(
    `go on with a task that a kill cut, as the next start brings it to where it can go on${LEFT_TO_CI}`,
    async () => {
      const data = join(directory, "data");
      const child = await serveProcess(data, receiver.target);
      const configuration = {
        blocking: false,
        pushNotificationConfig: { url: receiver.url },
      };
      const task = await send(child, "text One.\nwait 600000", configuration);
      await receiver.reached(3);
      child.process.kill("SIGKILL");
      await once(child.process, "exit");
      await using server = await serve({ dataDirectory: data });
      const { task: now } = await clientOf(server).tasks.getTask({
        taskId: task.id,
      });
      const last = `${task.id}:${now?.sequence}`;
      while (!eventIds(receiver.received).includes(last)) {
        await receiver.reached(receiver.received.length + 1);
      }
      const ids = [...new Set(eventIds(receiver.received))];
      expect(ids).toEqual(ids.map((_id, index) => `${task.id}:${index + 1}`));
    },
  );

  it("say nothing of the secrets that a session's MCP servers are reached with (S12)", async () => {
    await using server = await serve({ mcp: createMcp({}) });
    const client = clientOf(server);
    const mcpServers = [
      {
        name: "m",
        transport: {
          case: "http" as const,
          value: { url: "http://127.0.0.1:1/", headers: { a: "c4nary" } },
        },
      },
    ];
    await client.tasks.sendMessage({
      message: textMessage("text one", crypto.randomUUID()),
      sessionSettings: { mcpServers },
      pushConfig: { url: receiver.url, format: PushFormat.TASK_EVENT },
      returnImmediately: true,
    });
    await receiver.reached(1);
    expect(receiver.received[0]?.body).toContain("http://127.0.0.1:1/");
    expect(receiver.received.map(({ body }) => body).join()).not.toContain(
      "c4nary",
    );
  });

  it("are printed by devtool push listen once they are verified, and nothing else is", async () => {
    const port = await freePort();
    await using server = await serve({ pushTargets: [`127.0.0.1:${port}`] });
    const task = await send(server, "text one", {});
    const { io, said, erred, interrupt, heard } = listener();
    const options = {
      url: server.url,
      token: server.token,
      port: String(port),
      task: task.id,
    };
    const listening = pushListen(options, io);
    await heard(/listening at/);
    const forged = await fetch(`http://127.0.0.1:${port}/`, {
      method: "POST",
      body: '{"kind":"forged"}',
    });
    expect(forged.status).toBe(401);
    await configured(clientOf(server), task.id);
    await send(server, "text This was posted.", {}, EXTENSION, task.id);
    await heard(/This was posted\./);
    interrupt();
    expect(await listening).toBe(0);
    expect(said()).not.toContain("forged");
    expect(erred()).toContain("Devtool-Signature is missing");
    expect(
      (await clientOf(server).push.listPushConfigs({ taskId: task.id }))
        .configs,
    ).toEqual([]);
  });

  function serve(options: CodingServerOptions = {}): Promise<DevtoolServer> {
    return serveCodingAgent({
      workspace: directory,
      sandbox: "none",
      pushTargets: [receiver.target],
      ...options,
    });
  }
});

const EXTENSION: Readonly<Record<string, string>> = {
  "x-a2a-extensions": EXTENSION_URI,
};

const VERSION_1 = { "a2a-version": "1.0" };

interface Address {
  readonly url: string;
  readonly token: string;
}

function messageOf(text: string, taskId?: string) {
  const parts = [{ kind: "text", text }];
  return {
    kind: "message",
    messageId: crypto.randomUUID(),
    role: "user",
    parts,
    ...(taskId !== undefined && { taskId }),
  };
}

async function send(
  server: Address,
  text: string,
  configuration: object,
  headers: Readonly<Record<string, string>> = EXTENSION,
  taskId?: string,
) {
  const { result, error } = await rpc(
    server,
    "message/send",
    { message: messageOf(text, taskId), configuration },
    headers,
  );
  if (error) throw new Error(JSON.stringify(error));
  return result;
}

async function rpc(
  { url, token }: Address,
  method: string,
  params: object,
  headers: Readonly<Record<string, string>> = EXTENSION,
) {
  const response = await callRpc({ url, token }, method, params, headers);
  return JSON.parse(await response.text());
}

/** The log of a task that has ended. */
async function eventsOf(
  client: DevtoolClient,
  taskId: string,
): Promise<TaskEvent[]> {
  const responses = await Array.fromAsync(
    client.tasks.subscribeTask({ taskId }),
  );
  return responses.flatMap(({ event }) => event ?? []);
}

/** Waits for the notice in a task's log. */
async function noticeOf(
  client: DevtoolClient,
  taskId: string,
): Promise<string> {
  for (;;) {
    const { task } = await client.tasks.getTask({ taskId });
    for await (const { event } of client.tasks.subscribeTask({ taskId })) {
      if (event?.payload.case === "notice") return event.payload.value.text;
      if (event?.sequence === task?.sequence) break;
    }
  }
}

/** Waits until a task has a config. */
async function configured(
  client: DevtoolClient,
  taskId: string,
): Promise<void> {
  while ((await client.push.listPushConfigs({ taskId })).configs.length === 0);
}

function eventIds(received: readonly Received[]): string[] {
  return received.map(({ headers }) => String(headers["devtool-event-id"]));
}

/** A server in a process of its own, so that it can be killed. */
async function serveProcess(
  data: string,
  target: string,
): Promise<Address & { readonly process: ChildProcess }> {
  const script = `
    import { serveCodingAgent } from "@devtool/coding-agent";
    const [dataDirectory, target] = process.argv.slice(1);
    const options = { workspace: process.cwd(), sandbox: "none", dataDirectory, pushTargets: [target] };
    const { url, token } = await serveCodingAgent(options);
    console.log(JSON.stringify({ url, token }));
  `;
  const args = [
    "--experimental-transform-types",
    "--no-warnings",
    "--conditions=@devtool/source",
    "--input-type=module",
    "-e",
    script,
    data,
    target,
  ];
  const child = spawn(process.execPath, args, {
    cwd: import.meta.dirname,
    stdio: ["ignore", "pipe", "inherit"],
  });
  const [line] = await once(child.stdout, "data");
  return { ...JSON.parse(String(line)), process: child };
}

/** The ends of a command: what it says, and the way to interrupt it. */
function listener() {
  const stdout = new PassThrough();
  const stderr = new PassThrough();
  const events = new EventEmitter();
  let said = "";
  let erred = "";
  stdout.on("data", (chunk) => {
    said += chunk;
    events.emit("said");
  });
  stderr.on("data", (chunk) => {
    erred += chunk;
    events.emit("said");
  });
  const onInterrupt = (run: () => void) => {
    events.on("interrupt", run);
    return () => void events.off("interrupt", run);
  };
  const interrupt = (): void => void events.emit("interrupt");
  const io = {
    stdin: new PassThrough(),
    stdout,
    stderr,
    env: {},
    interactive: false,
    onInterrupt,
    interrupt,
  };
  const heard = async (pattern: RegExp): Promise<void> => {
    while (!pattern.test(said + erred)) await once(events, "said");
  };
  return { io, said: () => said, erred: () => erred, interrupt, heard };
}
