import { Code, ConnectError } from "@connectrpc/connect";
import {
  ApprovalMode,
  confirmationsOf,
  findToolCall,
  isAwaitingApproval,
  MessageDelivery,
  OPTION_MODIFY_WITH_EDITOR,
  openToolCalls,
  type SendMessageRequest,
  type SessionSettings,
  type Task,
  type ToolCallConfirmation,
} from "@devtool/schema";

/** Why the dialect cannot say what a request asks for, by its field. */
const REASONS: Readonly<Record<string, string>> = {
  return_immediately:
    "the server stops its work when nobody listens, so stream",
  push_config: "the server posts nothing, so stream",
  model: "the server alone chooses its model, so leave it out",
  allowed_tools: "the server's own settings name its tools",
  mcp_servers: "the server's own settings name its MCP servers",
  agent: "the server has one agent, so leave it out",
  agent_options: "the server's agent has none",
  approval_mode: "the server knows only DEFAULT and YOLO",
  turn: "the server's own settings hold for every turn",
  delivery:
    "the server takes a message when its turn has ended, so leave it out",
  modified_arguments:
    "the server runs a call as it is, so decline and say what you want",
  modified_details:
    "the server ignores an answer that changes content, so decline and say what you want",
};

/** Throws a `ConnectError` for the first field that a request asks for. */
function assertNotAsked(asked: Readonly<Record<string, boolean>>): void {
  const field = Object.keys(asked).find((name) => asked[name]);
  if (field === undefined) return;
  throw new ConnectError(
    `${field} is not available over the coderAgent dialect: ${REASONS[field]}`,
    Code.Unimplemented,
  );
}

/**
 * Checks a message before it is sent, because the server would not: if it does
 * not understand an answer, or gets a prompt instead of an answer, it leaves
 * the stream open without sending anything.
 *
 * Throws a `ConnectError`.
 */
export function assertSendable(request: SendMessageRequest, task: Task): void {
  const { message, taskId, sessionSettings, messageSettings } = request;
  if (!message) {
    throw new ConnectError("message: is missing", Code.InvalidArgument);
  }
  assertNotAsked({
    return_immediately: request.returnImmediately,
    model: message.model !== "",
    push_config: request.pushConfig !== undefined,
  });
  if (sessionSettings) assertSettings(sessionSettings);
  assertNotAsked({
    turn: messageSettings?.turn !== undefined,
    delivery: messageSettings?.delivery === MessageDelivery.STEER,
    modified_arguments: message.parts.some(
      ({ modifiedArguments }) => modifiedArguments !== undefined,
    ),
  });
  const answers = confirmationsOf(message);
  for (const answer of answers) assertAnswer(answer, task);
  const [pending] = openToolCalls(task).filter(isAwaitingApproval);
  if (taskId === "" || answers.length > 0 || !pending) return;
  const subject = `message ${JSON.stringify(message.messageId)}`;
  const call = `tool call ${JSON.stringify(pending.toolCallId)}`;
  const problem = `${subject} does not answer ${call}, which waits for approval: answer it or cancel the task`;
  throw new ConnectError(problem, Code.FailedPrecondition);
}

const APPROVAL_MODES: ReadonlySet<ApprovalMode> = new Set([
  ApprovalMode.UNSPECIFIED,
  ApprovalMode.DEFAULT,
  ApprovalMode.YOLO,
]);

/**
 * Throws a `ConnectError` for settings of a session that the dialect cannot
 * say.
 */
export function assertSettings(settings: SessionSettings): void {
  assertNotAsked({
    allowed_tools: settings.allowedTools.length > 0,
    mcp_servers: settings.mcpServers.length > 0,
    model: settings.model !== "",
    agent: settings.agent !== "",
    agent_options: Object.keys(settings.agentOptions).length > 0,
    approval_mode: !APPROVAL_MODES.has(settings.approvalMode),
  });
}

/**
 * Throws a `ConnectError` if a request names an agent: a server of this dialect
 * has one, without a choice.
 */
export function assertNoAgent(agent: string): void {
  assertNotAsked({ agent: agent !== "" });
}

function assertAnswer(
  { toolCallId, selectedOptionId, modifiedDetails }: ToolCallConfirmation,
  task: Task,
): void {
  const call = findToolCall(task, toolCallId);
  const subject = `tool call ${JSON.stringify(toolCallId)}`;
  if (!call) {
    const problem = `${subject} is not known to this client: answer where the question was received`;
    throw new ConnectError(problem, Code.InvalidArgument);
  }
  if (!isAwaitingApproval(call)) {
    throw new ConnectError(
      `${subject} does not wait for approval`,
      Code.FailedPrecondition,
    );
  }
  const offered = call.confirmationRequest?.options.map(({ id }) => id) ?? [];
  assertNotAsked({
    modified_details:
      modifiedDetails.case !== undefined &&
      !offered.includes(OPTION_MODIFY_WITH_EDITOR),
  });
  if (offered.includes(selectedOptionId)) return;
  const option = JSON.stringify(selectedOptionId);
  const problem = `option ${option} is not offered for ${subject}: choose ${offered.join(", ")}`;
  throw new ConnectError(problem, Code.InvalidArgument);
}
