import { create, type MessageInitShape } from "@bufbuild/protobuf";
import { type Client, createClient, type Interceptor } from "@connectrpc/connect";
import { createConnectTransport } from "@connectrpc/connect-node";
import { type ToolCall, ToolCallStatus } from "./gen/devtool/a2a/v1alpha/tool_call_pb.js";
import {
  type Answer,
  type Conversation,
  ConversationSchema,
  type Converse,
} from "./gen/devtool/conformance/v1alpha/program_pb.js";
import type { TaskEvent } from "./gen/devtool/v1alpha/task_event_pb.js";
import type { PartSchema } from "./gen/devtool/v1alpha/task_pb.js";
import { TaskService } from "./gen/devtool/v1alpha/task_service_pb.js";

type PartInit = MessageInitShape<typeof PartSchema>;

/** Starts a task, answers its questions as it is told to, and follows it until it waits for nobody. */
export async function converse({ url, token, prompt, answers }: Converse): Promise<Conversation> {
  const client = connect(url, token);
  const left = [...answers];
  const events = await exchange(client, "", [{ content: { case: "text", value: prompt } }]);
  const taskId = events[0]?.taskId ?? "";
  for (let open = openQuestions(events); open.length > 0; open = openQuestions(events)) {
    events.push(
      ...(await exchange(
        client,
        taskId,
        open.map((call) => confirmation(call, left.shift())),
      )),
    );
  }
  const { task } = await client.getTask({ taskId });
  return create(ConversationSchema, { events, ...(task && { task }) });
}

function connect(baseUrl: string, token: string): Client<typeof TaskService> {
  const withToken: Interceptor = (next) => (request) => {
    request.header.set("authorization", `Bearer ${token}`);
    return next(request);
  };
  return createClient(TaskService, createConnectTransport({ baseUrl, httpVersion: "1.1", interceptors: [withToken] }));
}

async function exchange(client: Client<typeof TaskService>, taskId: string, parts: PartInit[]): Promise<TaskEvent[]> {
  const events: TaskEvent[] = [];
  const message = { messageId: crypto.randomUUID(), parts };
  for await (const { event } of client.streamMessage({ request: { message, taskId } })) if (event) events.push(event);
  return events;
}

/** The calls whose last form asks. */
function openQuestions(events: readonly TaskEvent[]): ToolCall[] {
  const calls = new Map<string, ToolCall>();
  for (const { payload } of events) if (payload.case === "toolCall") calls.set(payload.value.toolCallId, payload.value);
  return [...calls.values()].filter(
    ({ status, confirmationRequest }) => status === ToolCallStatus.PENDING && confirmationRequest,
  );
}

function confirmation({ toolCallId }: ToolCall, answer: Answer | undefined): PartInit {
  if (!answer) throw new Error(`no answer for the question of ${toolCallId}`);
  const { optionId: selectedOptionId, newContent } = answer;
  if (newContent === undefined) return { content: { case: "confirmation", value: { toolCallId, selectedOptionId } } };
  const modifiedDetails = { case: "fileDetails" as const, value: { newContent } };
  return { content: { case: "confirmation", value: { toolCallId, selectedOptionId, modifiedDetails } } };
}
