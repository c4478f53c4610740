import {
  create,
  type DescMethod,
  type JsonValue,
  type Message,
  toBinary,
  toJson,
} from "@bufbuild/protobuf";
import { PushService, SlashCommandService, TaskService } from "@devtool/schema";

/** A good request over HTTP+JSON. */
export type Seed = readonly [
  method: string,
  path: string,
  body: JsonValue | undefined,
];

const MESSAGE = {
  kind: "message",
  role: "user",
  messageId: "m",
  parts: [{ kind: "text", text: "text x" }],
};
const MESSAGE_V1 = {
  role: "ROLE_USER",
  messageId: "m",
  parts: [{ text: "text x" }],
};
const DATA = {
  kind: "data",
  data: { tool_call_id: "c", selected_option_id: "o" },
};
export const RPC_SEEDS: readonly string[] = [
  rpc(1, "message/send", { message: MESSAGE }),
  rpc("a", "tasks/get", { id: "t", historyLength: 1 }),
  rpc(null, "command/execute", { command_path: ["nothing"], args: "" }),
  rpc(2, "message/send", {
    message: { ...MESSAGE, taskId: "t", parts: [DATA], metadata: { x: 1 } },
    configuration: { blocking: false },
  }),
  rpc("s", "message/stream", { message: { ...MESSAGE, messageId: "s" } }),
  rpc(3, "tasks/resubscribe", { id: "t" }),
  rpc(4, "tasks/cancel", { id: "t", metadata: {} }),
  rpc(5, "tasks/pushNotificationConfig/set", {
    taskId: "t",
    pushNotificationConfig: { id: "p", url: "https://x.example/" },
  }),
  rpc(6, "tasks/pushNotificationConfig/delete", {
    id: "t",
    pushNotificationConfigId: "p",
  }),
];
export const RPC_V1_SEEDS: readonly string[] = [
  rpc(1, "SendMessage", { message: MESSAGE_V1 }),
  rpc("a", "GetTask", { id: "t", historyLength: 1 }),
  rpc(null, "ListTasks", {
    pageSize: 2,
    status: "TASK_STATE_WORKING",
    contextId: "c",
  }),
  rpc(2, "SendMessage", {
    message: {
      ...MESSAGE_V1,
      taskId: "t",
      parts: [{ data: DATA.data }],
      metadata: { x: 1 },
    },
    configuration: { returnImmediately: true },
  }),
  rpc("s", "SendStreamingMessage", {
    message: { ...MESSAGE_V1, messageId: "s" },
  }),
  rpc(3, "SubscribeToTask", { id: "t", tenant: "" }),
  rpc(4, "CreateTaskPushNotificationConfig", {
    taskId: "t",
    id: "p",
    url: "https://x.example/",
    authentication: { scheme: "Bearer" },
  }),
  rpc(5, "DeleteTaskPushNotificationConfig", { taskId: "t", id: "p" }),
];
export const AG_UI_SEEDS: readonly string[] = [
  run("t", { messages: [{ id: "m", role: "user", content: "text x" }] }),
  run("u", {
    messages: [
      {
        id: "a",
        role: "assistant",
        content: "y",
        toolCalls: [{ id: "c", type: "function", function: { name: "n" } }],
      },
      {
        id: "n",
        role: "user",
        content: [
          {
            type: "image",
            source: { type: "data", value: "AA==", mimeType: "image/png" },
          },
        ],
      },
    ],
    context: [{ description: "d", value: "v" }],
  }),
  run("t", {
    resume: [
      {
        interruptId: "c:AAAA",
        status: "resolved",
        payload: { approved: true, editedArgs: { a: 1 } },
      },
    ],
  }),
  run("t", {
    forwardedProps: {
      devtool: { settings: {}, sessionSettings: { model: "x" }, cancel: true },
    },
  }),
  run("v", {
    messages: [{ id: "w", role: "user", content: "write a.txt x" }],
    protocolVersion: "1.0",
    parentRunId: "p",
  }),
];
export const REST_SEEDS: readonly Seed[] = [
  [
    "POST",
    "/v1/message:send",
    {
      message: {
        role: "ROLE_USER",
        messageId: "m",
        content: [{ text: "text x" }],
      },
    },
  ],
  [
    "POST",
    "/v1/message:send",
    {
      message: { ...MESSAGE, taskId: "t" },
      configuration: { blocking: false },
    },
  ],
  [
    "POST",
    "/v1/message:stream",
    { message: { message_id: "m", role: 1, content: [{ text: "text x" }] } },
  ],
  ["GET", "/v1/tasks/t?historyLength=1", undefined],
  ["POST", "/v1/tasks/t:cancel", {}],
  ["GET", "/v1/tasks/t:subscribe", undefined],
  [
    "POST",
    "/v1/tasks/t/pushNotificationConfigs",
    { pushNotificationConfig: { id: "p", url: "https://x.example/" } },
  ],
  ["DELETE", "/v1/tasks/t/pushNotificationConfigs/c", undefined],
];
export const REST_V1_SEEDS: readonly Seed[] = [
  ["POST", "/message:send", { message: MESSAGE_V1 }],
  [
    "POST",
    "/message:send",
    {
      message: { ...MESSAGE_V1, taskId: "t" },
      configuration: { historyLength: 1 },
    },
  ],
  ["POST", "/message:stream", { message: { ...MESSAGE_V1, messageId: "s" } }],
  ["GET", "/tasks/t?historyLength=1", undefined],
  [
    "GET",
    "/tasks?pageSize=2&status=TASK_STATE_WORKING&includeArtifacts=true",
    undefined,
  ],
  ["POST", "/tasks/t:cancel", {}],
  ["GET", "/tasks/t:subscribe", undefined],
  [
    "POST",
    "/tasks/t/pushNotificationConfigs",
    { id: "p", url: "https://x.example/", token: "x" },
  ],
  ["DELETE", "/tasks/t/pushNotificationConfigs/p", undefined],
];

const SAID = {
  messageId: "m",
  parts: [{ content: { case: "text" as const, value: "text x" } }],
};
const ANSWERED = { toolCallId: "c", selectedOptionId: "proceed_once" };
const ANSWERING = {
  message: {
    messageId: "a",
    parts: [{ content: { case: "confirmation" as const, value: ANSWERED } }],
  },
  taskId: "t",
  returnImmediately: true,
};
const TASKS = TaskService.method;

/** One method of our services, with a request as JSON and as bytes. */
export interface Call {
  readonly path: string;
  readonly json: string;
  readonly bytes: Uint8Array;
}

export const UNARY: readonly Call[] = [
  call(TASKS.sendMessage, create(TASKS.sendMessage.input, { message: SAID })),
  call(TASKS.sendMessage, create(TASKS.sendMessage.input, ANSWERING)),
  call(TASKS.getTask, create(TASKS.getTask.input, { taskId: "t" })),
  call(
    TASKS.listTasks,
    create(TASKS.listTasks.input, {
      pageSize: 2,
      pageToken: "x",
      contextId: "c",
    }),
  ),
  call(TASKS.cancelTask, create(TASKS.cancelTask.input, { taskId: "t" })),
  call(
    SlashCommandService.method.runSlashCommand,
    create(SlashCommandService.method.runSlashCommand.input, {
      command: { commandPath: ["nothing"] },
      contextId: "c",
    }),
  ),
  call(
    PushService.method.setPushConfig,
    create(PushService.method.setPushConfig.input, {
      config: { taskId: "t", url: "https://x.example/" },
    }),
  ),
];
export const STREAMS: readonly Call[] = [
  call(
    TASKS.streamMessage,
    create(TASKS.streamMessage.input, { request: ANSWERING }),
  ),
  call(
    TASKS.subscribeTask,
    create(TASKS.subscribeTask.input, { taskId: "t", afterSequence: 3n }),
  ),
];
export const CALLS: readonly Call[] = [...UNARY, ...STREAMS];

function call({ parent, name, input }: DescMethod, message: Message): Call {
  const json = JSON.stringify(toJson(input, message));
  return {
    path: `/${parent.typeName}/${name}`,
    json,
    bytes: toBinary(input, message),
  };
}

function run(threadId: string, fields: object): string {
  const bare = {
    threadId,
    runId: "r",
    messages: [],
    tools: [],
    context: [],
    state: {},
    forwardedProps: {},
  };
  return JSON.stringify({ ...bare, ...fields });
}

function rpc(id: JsonValue, method: string, params: JsonValue): string {
  return JSON.stringify({ jsonrpc: "2.0", id, method, params });
}
