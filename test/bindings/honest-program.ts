import { create, createRegistry, fromBinary, fromJsonString, toBinary, toJsonString } from "@bufbuild/protobuf";
import { sizeDelimitedDecodeStream, sizeDelimitedEncode } from "@bufbuild/protobuf/wire";
import { createConnectTransport } from "@connectrpc/connect-node";
import {
  bearerInterceptor,
  confirmationPart,
  createDevtoolClient,
  pendingToolCalls,
  streamMessage,
  textMessage,
} from "@devtool/client";
import type { ProgramStreams } from "@devtool/conformance";
import {
  AgentSettingsSchema,
  DevelopmentToolEventSchema,
  emptyTask,
  GetAllSlashCommandsResponseSchema,
  reduceTask,
  type TaskEvent,
  ToolCallConfirmationSchema,
  ToolCallSchema,
} from "@devtool/schema";
import {
  ConversationSchema,
  type Converse,
  type ProgramRequest,
  ProgramRequestSchema,
  type ProgramResponse,
  ProgramResponseSchema,
} from "@devtool/schema/conformance";

const registry = createRegistry(
  ...[
    GetAllSlashCommandsResponseSchema,
    ToolCallConfirmationSchema,
    AgentSettingsSchema,
    ToolCallSchema,
    DevelopmentToolEventSchema,
  ].map(({ file }) => file),
);

type Outcome = ProgramResponse["outcome"];

/** A program under test in this process; `spoil` changes what it answers. */
export function honestProgram(spoil: (outcome: Outcome) => Outcome = (outcome) => outcome): ProgramStreams {
  const { readable, writable } = new TransformStream<Uint8Array, Uint8Array>();
  const writer = writable.getWriter();
  return {
    write: async (bytes) => void writer.write(bytes),
    output: answers(readable, spoil),
  };
}

async function* answers(
  input: AsyncIterable<Uint8Array>,
  spoil: (outcome: Outcome) => Outcome,
): AsyncIterable<Uint8Array> {
  for await (const request of sizeDelimitedDecodeStream(ProgramRequestSchema, input)) {
    const outcome = await answer(request).catch(
      (reason: unknown): Outcome => ({
        case: "refused",
        value: String(reason),
      }),
    );
    const response = create(ProgramResponseSchema, { outcome: spoil(outcome) });
    yield sizeDelimitedEncode(ProgramResponseSchema, response);
  }
}

async function answer({ work }: ProgramRequest): Promise<Outcome> {
  switch (work.case) {
    case "readJson": {
      const type = named(work.value.type);
      return {
        case: "binary",
        value: toBinary(type, fromJsonString(type, work.value.json, { ignoreUnknownFields: true })),
      };
    }
    case "readBinary": {
      const type = named(work.value.type);
      return { case: "json", value: toJsonString(type, fromBinary(type, work.value.binary)) };
    }
    case "converse":
      return converse(work.value);
    case undefined:
      return { case: "unsupported", value: "nothing" };
    default:
      return work satisfies never;
  }
}

function named(type: string) {
  const found = registry.getMessage(type);
  if (!found) throw new Error(`${type} is not registered`);
  return found;
}

async function converse({ url, token, prompt, answers }: Converse): Promise<Outcome> {
  const interceptors = [bearerInterceptor(token)];
  const client = createDevtoolClient(createConnectTransport({ baseUrl: url, httpVersion: "1.1", interceptors }));
  const signal = AbortSignal.timeout(20_000);
  const events: TaskEvent[] = [];
  const left = [...answers];
  let task = emptyTask();
  let message = textMessage(crypto.randomUUID(), prompt);
  for (;;) {
    for await (const event of streamMessage(client, { message, taskId: task.id }, signal)) {
      events.push(event);
      task = reduceTask(task, event);
    }
    const open = pendingToolCalls(task);
    if (open.length === 0) break;
    const parts = open.map((call) => {
      const { optionId = "", newContent } = left.shift() ?? {};
      return confirmationPart(call, optionId, newContent);
    });
    message = { ...textMessage(crypto.randomUUID(), ""), parts };
  }
  const { task: got } = await client.tasks.getTask({ taskId: task.id });
  return { case: "conversation", value: create(ConversationSchema, { events, ...(got && { task: got }) }) };
}
