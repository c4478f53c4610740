import {
  create,
  createRegistry,
  fromBinary,
  fromJsonString,
  toBinary,
  toJsonString,
} from "@bufbuild/protobuf";
import {
  sizeDelimitedDecodeStream,
  sizeDelimitedEncode,
} from "@bufbuild/protobuf/wire";
import type { Transport } from "@connectrpc/connect";
import { createConnectTransport } from "@connectrpc/connect-node";
import {
  bearerInterceptor,
  confirmationPart,
  createDevtoolClient,
  pendingToolCalls,
  streamMessage,
  textMessage,
} from "@devtool/client";
import type { runProgramSuite } from "@devtool/conformance";
import {
  ConversationSchema,
  type Converse,
  type ConverseOverA2a,
  type ProgramRequest,
  ProgramRequestSchema,
  type ProgramResponse,
  ProgramResponseSchema,
} from "@devtool/conformance/protos";
import {
  AgentSettingsSchema,
  DevelopmentToolEventSchema,
  emptyTask,
  GetAllSlashCommandsResponseSchema,
  reduceTask,
  type Task,
  type TaskEvent,
  ToolCallConfirmationSchema,
  ToolCallSchema,
} from "@devtool/schema";

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

/** How a program reaches a server. */
export type Connecting = (
  url: string,
  token: string,
) => Transport | Promise<Transport>;

/** Options of a program that answers correctly unless a test changes it. */
export interface HonestProgram {
  /** Changes what it answers. */
  readonly spoil?: (outcome: Outcome) => Outcome;
  /** How it converses when it may choose. Default: Connect. */
  readonly connecting?: Connecting;
  /**
   * How it speaks what it is told to; undefined for what it does not. Default:
   * nothing.
   */
  readonly speaking?: (
    over: Pick<ConverseOverA2a, "protocolVersion" | "protocolBinding">,
  ) => Connecting | undefined;
}

/** A program under test in this process. */
export function honestProgram(
  program: HonestProgram = {},
): Parameters<typeof runProgramSuite>[0] {
  const { readable, writable } = new TransformStream<Uint8Array, Uint8Array>();
  const writer = writable.getWriter();
  return {
    write: async (bytes) => void writer.write(bytes),
    output: answers(readable, program),
  };
}

async function* answers(
  input: AsyncIterable<Uint8Array>,
  program: HonestProgram,
): AsyncIterable<Uint8Array> {
  const { spoil = (outcome) => outcome } = program;
  for await (const request of sizeDelimitedDecodeStream(
    ProgramRequestSchema,
    input,
  )) {
    const outcome = await answer(request, program).catch(
      (reason: unknown): Outcome => ({
        case: "refused",
        value: String(reason),
      }),
    );
    const response = create(ProgramResponseSchema, { outcome: spoil(outcome) });
    yield sizeDelimitedEncode(ProgramResponseSchema, response);
  }
}

async function answer(
  { work }: ProgramRequest,
  program: HonestProgram,
): Promise<Outcome> {
  switch (work.case) {
    case "readJson": {
      const type = named(work.value.type);
      return {
        case: "binary",
        value: toBinary(
          type,
          fromJsonString(type, work.value.json, { ignoreUnknownFields: true }),
        ),
      };
    }
    case "readBinary": {
      const type = named(work.value.type);
      return {
        case: "json",
        value: toJsonString(type, fromBinary(type, work.value.binary)),
      };
    }
    case "converse":
    case "resume":
      return converse(work.value, program.connecting ?? overConnect);
    case "converseOverA2a":
    case "resumeOverA2a":
      return converseOver(work.value, program);
    case "converseWithAgent":
      return converseWithAgent(work.value, program);
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

async function converseOver(
  asked: ConverseOverA2a,
  { speaking }: HonestProgram,
): Promise<Outcome> {
  const { conversation, protocolVersion, protocolBinding } = asked;
  const connecting = speaking?.(asked);
  if (conversation && connecting) return converse(conversation, connecting);
  return {
    case: "unsupported",
    value: `A2A ${protocolVersion} over ${protocolBinding}`,
  };
}

/** Sends the prompt, and reports the task that the client has then. */
async function converseWithAgent(
  asked: ConverseOverA2a,
  { speaking }: HonestProgram,
): Promise<Outcome> {
  const { conversation, protocolVersion, protocolBinding } = asked;
  const connecting = speaking?.(asked);
  if (!conversation || !connecting) {
    const value = `A2A ${protocolVersion} over ${protocolBinding}`;
    return { case: "unsupported", value };
  }
  const { url, token, prompt, workspacePath } = conversation;
  const client = createDevtoolClient(await connecting(url, token));
  const request = {
    message: textMessage(crypto.randomUUID(), prompt),
    ...(workspacePath !== "" && { settings: { workspacePath } }),
  };
  let task = emptyTask();
  const signal = AbortSignal.timeout(60_000);
  for await (const event of streamMessage(client, request, signal)) {
    task = reduceTask(task, event);
  }
  return { case: "conversation", value: create(ConversationSchema, { task }) };
}

function overConnect(baseUrl: string, token: string): Transport {
  return createConnectTransport({
    baseUrl,
    httpVersion: "1.1",
    interceptors: [bearerInterceptor(token)],
  });
}

async function converse(
  { url, token, prompt, answers }: Converse,
  connecting: Connecting,
): Promise<Outcome> {
  const client = createDevtoolClient(await connecting(url, token));
  const signal = AbortSignal.timeout(300_000);
  const events: TaskEvent[] = [];
  const left = [...answers];
  let task = emptyTask();
  let message = textMessage(crypto.randomUUID(), prompt);
  for (;;) {
    for await (const event of streamMessage(
      client,
      { message, taskId: task.id },
      signal,
    )) {
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
  const get = (): Promise<{ readonly task?: Task | undefined }> =>
    client.tasks.getTask({ taskId: task.id });
  const { task: got } = await get().catch(get);
  return {
    case: "conversation",
    value: create(ConversationSchema, { events, ...(got && { task: got }) }),
  };
}
