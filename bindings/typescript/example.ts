/**
 * Asks an agent to write a file, looks at what it wants to do, and allows it.
 */
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
import { TaskState } from "./gen/devtool/v1alpha/task_pb.js";
import { TaskService } from "./gen/devtool/v1alpha/task_service_pb.js";

const { DEVTOOL_URL = "http://127.0.0.1:41242", DEVTOOL_TOKEN = "" } =
  process.env;

const withToken: Interceptor = (next) => (request) => {
  request.header.set("authorization", `Bearer ${DEVTOOL_TOKEN}`);
  return next(request);
};
const transport = createConnectTransport({
  baseUrl: DEVTOOL_URL,
  httpVersion: "1.1",
  interceptors: [withToken],
});
const client: Client<typeof TaskService> = createClient(TaskService, transport);

const questions: ToolCall[] = [];
let taskId = "";
const prompt =
  "write hello-typescript.txt Hello from TypeScript\ntext Written.";
const parts = [{ content: { case: "text" as const, value: prompt } }];
const asked = client.streamMessage({
  request: { message: { messageId: crypto.randomUUID(), parts } },
});
for await (const { event } of asked) {
  if (!event) continue;
  taskId = event.taskId;
  if (event.payload.case !== "toolCall") continue;
  const call = event.payload.value;
  if (call.status === ToolCallStatus.PENDING && call.confirmationRequest) {
    questions.push(call);
  }
}

for (const { toolName, confirmationRequest } of questions) {
  const details = confirmationRequest?.details;
  if (details?.case === "fileEditDetails") {
    console.log(
      `${toolName} wants to write ${details.value.fileName}: ${details.value.newContent}`,
    );
  }
}

const answers = questions.map(({ toolCallId }) => ({
  content: {
    case: "confirmation" as const,
    value: { toolCallId, selectedOptionId: "proceed_once" },
  },
}));
const answered = client.streamMessage({
  request: {
    taskId,
    message: { messageId: crypto.randomUUID(), parts: answers },
  },
});
for await (const { event } of answered) {
  if (event?.payload.case === "text") console.log(event.payload.value.text);
  if (event?.payload.case === "stateChange") {
    console.log(TaskState[event.state]);
  }
}
