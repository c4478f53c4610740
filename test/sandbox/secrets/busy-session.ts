import { once } from "node:events";
import { watch } from "node:fs";
import { toJsonString } from "@bufbuild/protobuf";
import { pendingToolCalls, subscribeTask } from "@devtool/client";
import {
  AuditRecordSchema,
  EXTENSION_URI,
  ExecuteSlashCommandResponseSchema,
  SESSION_SETTINGS_URI,
  type Task,
  TaskEventSchema,
  TaskState,
} from "@devtool/schema";
import { Conversation } from "../../audit/conversation.ts";
import type { Address } from "../../client-of.ts";
import { callRpc } from "../../post-json.ts";
import type { Sink } from "./leaks.ts";
import { descendantsOf } from "./processes.ts";
import { canaryOf, type Stage } from "./stage.ts";

const signal = AbortSignal.timeout(300_000);

/**
 * The steps of the agent: each fails in a way that could reveal a secret, or
 * searches for one.
 */
const SCRIPTS = [
  "text hello",
  "text echo 401",
  "text echo 500",
  "call mcp__leaky__tell {}\nnext\ncall mcp__leaky__refuse {}\nnext\ncall mcp__leaky__ask {}\nnext\ncall mcp__leaky__crash {}\nnext\ncall mcp__leaky__tell {}",
  'read missing.txt\ncall search_file_content {"pattern":"SECRET"}\ncall list_directory {"path":"."}\ncall no_such_tool {}\ncall read_file {}',
  "run eval 'env; set; cat /proc/self/environ; exit 3'",
  "write made.txt hello",
];

const COMMANDS = [
  "help",
  "about",
  "tools",
  "stats",
  "memory show",
  "memory list",
  "mcp list",
  "mcp refresh",
  "policies list",
];

/**
 * Has everything done that could make a server tell a secret, and what
 * `scripts` say; gives what can be read of it afterwards.
 */
export async function playBusySession(
  stage: Stage,
  scripts: readonly string[] = [],
): Promise<Sink[]> {
  const user = new Conversation(stage.info, signal);
  for (const script of [...SCRIPTS, ...scripts]) {
    await approveAll(user, await user.start(script));
  }
  for (const command of COMMANDS) await runCommand(user, command);
  const children = await childrenWhileACommandRuns(stage, user);
  const answers = [
    ...(await badRequests(stage)),
    ...(await sessionWithServers(stage)),
  ];
  return [
    ...children,
    ...answers,
    { name: "events", text: (await allEvents(user)).join("\n") },
    { name: "audit", text: (await auditOf(user)).join("\n") },
    { name: "model", text: stage.model.requests.join("\n") },
    { name: "mcp", text: stage.mcp.requests.join("\n") },
  ];
}

async function approveAll(user: Conversation, from: Task): Promise<Task> {
  let task = from;
  while (
    task.state === TaskState.INPUT_REQUIRED &&
    pendingToolCalls(task).length > 0
  ) {
    const options = pendingToolCalls(task).flatMap(
      ({ confirmationRequest }) => confirmationRequest?.options ?? [],
    );
    task = await user.answer(
      task,
      options.some(({ id }) => id === "proceed_once")
        ? "proceed_once"
        : "cancel",
    );
  }
  return task;
}

async function runCommand(
  { client }: Conversation,
  command: string,
): Promise<void> {
  const { result } = await client.commands.runSlashCommand({
    command: { commandPath: command.split(" ") },
  });
  if (!result?.executionId) {
    throw new Error(
      `/${command} did not start: ${result && toJsonString(ExecuteSlashCommandResponseSchema, result)}`,
    );
  }
  for await (const _event of subscribeTask(
    client,
    { taskId: result.executionId },
    signal,
  )) {
  }
}

/** Looks at the server's processes while a command and an MCP server run. */
async function childrenWhileACommandRuns(
  { info, workspace }: Stage,
  user: Conversation,
): Promise<Sink[]> {
  const asked = await user.start("run eval 'touch runs; sleep 60'");
  const changes = watch(workspace);
  const following = approveAll(user, asked);
  for (
    let [, name] = await once(changes, "change");
    name !== "runs";
    [, name] = await once(changes, "change")
  ) {}
  changes.close();
  const children = descendantsOf(info.pid);
  await user.client.tasks.cancelTask({ taskId: asked.id });
  await following;
  return children;
}

/** The answers of A2A and HTTP to refused requests that contain secrets. */
async function badRequests({ info, canaries }: Stage): Promise<Sink[]> {
  const config = {
    url: "https://push.example/hook",
    token: canaryOf(canaries, "push token"),
    authentication: {
      schemes: ["Bearer"],
      credentials: canaryOf(canaries, "push credentials"),
    },
  };
  const server = {
    name: "mine",
    stdio: {
      command: "no-such",
      env: { KEY: canaryOf(canaries, "session mcp env") },
    },
  };
  return Promise.all([
    post(info, "tasks/pushNotificationConfig/set", {
      taskId: "t",
      pushNotificationConfig: config,
    }),
    post(info, "message/send", {
      ...messageParams({}),
      configuration: { pushNotificationConfig: config },
    }),
    post(info, "message/send", messageParams({ mcpServers: [server] })),
    post(
      { ...info, token: canaryOf(canaries, "wrong bearer") ?? "" },
      "tasks/get",
      {
        id: "t",
      },
    ),
    post(
      info,
      "tasks/get",
      { id: "t" },
      { cookie: `session=${canaryOf(canaries, "cookie")}` },
    ),
  ]);
}

/**
 * A session whose client brings MCP servers that refuse it: its stream, and the
 * task as it is read again.
 */
async function sessionWithServers({
  info,
  canaries,
  mcp,
}: Stage): Promise<Sink[]> {
  const server = {
    name: "brought",
    http: {
      url: `${mcp.url}/brought?key=${canaryOf(canaries, "session mcp url parameter")}`,
      headers: {
        Authorization: `Bearer ${canaryOf(canaries, "session mcp header")}`,
      },
    },
  };
  const streamed = await post(
    info,
    "message/stream",
    messageParams({ mcpServers: [server] }),
  );
  const taskId = /"id":"([0-9a-f-]{36})"/.exec(streamed.text)?.[1];
  return [
    streamed,
    await post(info, "tasks/get", { id: taskId }),
    await post(
      info,
      "tasks/resubscribe",
      { id: taskId },
      { "last-event-id": "0" },
    ),
  ];
}

function messageParams(settings: unknown): { readonly message: unknown } {
  return {
    message: {
      kind: "message",
      role: "user",
      messageId: crypto.randomUUID(),
      parts: [{ kind: "text", text: "text hello" }],
      metadata: { [EXTENSION_URI]: {}, [SESSION_SETTINGS_URI]: settings },
    },
  };
}

async function post(
  server: Address,
  method: string,
  params: unknown,
  headers: Readonly<Record<string, string>> = {},
): Promise<Sink> {
  const response = await callRpc(server, method, params, headers);
  const answer = `${JSON.stringify([...response.headers])}\n${await response.text()}`;
  return { name: `answer to ${method}`, text: answer };
}

async function allEvents({ client }: Conversation): Promise<string[]> {
  const { tasks } = await client.tasks.listTasks({ pageSize: 100 });
  const logs = await Promise.all(
    tasks.map(({ id }) =>
      Array.fromAsync(subscribeTask(client, { taskId: id }, signal)),
    ),
  );
  return logs.flat().map((event) => toJsonString(TaskEventSchema, event));
}

async function auditOf({ client }: Conversation): Promise<string[]> {
  const records = await Array.fromAsync(client.audit.readAudit({}));
  return records.flatMap(({ record }) =>
    record ? [toJsonString(AuditRecordSchema, record)] : [],
  );
}
