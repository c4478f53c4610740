import { create, type MessageInitShape } from "@bufbuild/protobuf";
import {
  type Client,
  createClient,
  type Interceptor,
} from "@connectrpc/connect";
import { createConnectTransport } from "@connectrpc/connect-node";
import {
  type ToolCall,
  ToolCallStatus,
} from "./gen/devtool/a2a/v1alpha/tool_call_pb.js";
import {
  type Answer,
  type Conversation,
  ConversationSchema,
  type Converse,
} from "./gen/devtool/conformance/v1alpha/program_pb.js";
import type { TaskEvent } from "./gen/devtool/v1alpha/task_event_pb.js";
import { type PartSchema, TaskState } from "./gen/devtool/v1alpha/task_pb.js";
import { TaskService } from "./gen/devtool/v1alpha/task_service_pb.js";

type PartInit = MessageInitShape<typeof PartSchema>;

/**
 * Starts a task, answers its questions as it is told to, and follows it until
 * it waits for nobody. A connection that breaks is resumed, up to the maximum
 * number of attempts.
 */
export async function converse(
  { url, token, prompt, answers }: Converse,
  tries: number,
): Promise<Conversation> {
  const client = connect(url, token);
  const left = [...answers];
  const events: TaskEvent[] = [];
  let parts: PartInit[] = [{ content: { case: "text", value: prompt } }];
  while (parts.length > 0) {
    const from = {
      message: { messageId: crypto.randomUUID(), parts },
      seen: events.length,
    };
    await repeated(tries, () => follow(client, from, events));
    parts = openQuestions(events).map((call) =>
      confirmation(call, left.shift()),
    );
  }
  const { task } = await repeated(tries, () =>
    client.getTask({ taskId: events[0]?.taskId ?? "" }),
  );
  return create(ConversationSchema, { events, ...(task && { task }) });
}

/** Runs again what was broken off. */
async function repeated<T>(tries: number, run: () => Promise<T>): Promise<T> {
  try {
    return await run();
  } catch (reason) {
    if (tries <= 1) throw reason;
    return repeated(tries - 1, run);
  }
}

/** What sets off an exchange, and how many events there were before it. */
interface Origin {
  readonly message: { readonly messageId: string; readonly parts: PartInit[] };
  readonly seen: number;
}

/**
 * Adds the events of an exchange: all of them, or those after the last that has
 * come.
 */
async function follow(
  client: Client<typeof TaskService>,
  { message, seen }: Origin,
  events: TaskEvent[],
): Promise<void> {
  const taskId = events[0]?.taskId ?? "";
  const afterSequence = events.at(-1)?.sequence ?? 0n;
  // The same message under the same id is a retry, and starts nothing anew.
  const stream =
    events.length === seen
      ? client.streamMessage({ request: { message, taskId } })
      : client.subscribeTask({ taskId, afterSequence });
  for await (const { event } of stream) {
    if (event) events.push(event);
    if (event && endsExchange(event)) return;
  }
}

function endsExchange({ payload, state }: TaskEvent): boolean {
  return (
    payload.case === "stateChange" &&
    state !== TaskState.SUBMITTED &&
    state !== TaskState.WORKING
  );
}

function connect(baseUrl: string, token: string): Client<typeof TaskService> {
  const withToken: Interceptor = (next) => (request) => {
    request.header.set("authorization", `Bearer ${token}`);
    return next(request);
  };
  return createClient(
    TaskService,
    createConnectTransport({
      baseUrl,
      httpVersion: "1.1",
      interceptors: [withToken],
    }),
  );
}

/** The calls whose last form asks. */
function openQuestions(events: readonly TaskEvent[]): ToolCall[] {
  const calls = new Map<string, ToolCall>();
  for (const { payload } of events) {
    if (payload.case === "toolCall") {
      calls.set(payload.value.toolCallId, payload.value);
    }
  }
  return [...calls.values()].filter(
    ({ status, confirmationRequest }) =>
      status === ToolCallStatus.PENDING && confirmationRequest,
  );
}

function confirmation(
  { toolCallId }: ToolCall,
  answer: Answer | undefined,
): PartInit {
  if (!answer) throw new Error(`no answer for the question of ${toolCallId}`);
  const { optionId: selectedOptionId, newContent } = answer;
  if (newContent === undefined) {
    return {
      content: {
        case: "confirmation",
        value: { toolCallId, selectedOptionId },
      },
    };
  }
  const modifiedDetails = {
    case: "fileDetails" as const,
    value: { newContent },
  };
  return {
    content: {
      case: "confirmation",
      value: { toolCallId, selectedOptionId, modifiedDetails },
    },
  };
}
