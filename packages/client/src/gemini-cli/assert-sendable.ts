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

/**
 * Checks a message before it is sent, because the server would not: if it does
 * not understand an answer, or gets a prompt instead of an answer, it leaves
 * the stream open without sending anything.
 *
 * Throws a `ConnectError`.
 */
export function assertSendable(
  {
    message,
    taskId,
    returnImmediately,
    sessionSettings,
    messageSettings,
    pushConfig,
  }: SendMessageRequest,
  task: Task,
): void {
  if (!message) {
    throw new ConnectError("message: is missing", Code.InvalidArgument);
  }
  if (returnImmediately) {
    throw unavailable(
      "return_immediately",
      "the server stops its work when nobody listens, so stream",
    );
  }
  if (message.model !== "") {
    throw unavailable(
      "model",
      "the server alone chooses its model, so leave it out",
    );
  }
  if (pushConfig) {
    throw unavailable("push_config", "the server posts nothing, so stream");
  }
  if (sessionSettings) assertSettings(sessionSettings);
  if (messageSettings?.turn) {
    throw unavailable("turn", "the server's own settings hold for every turn");
  }
  if (messageSettings?.delivery === MessageDelivery.STEER) {
    throw unavailable(
      "delivery",
      "the server takes a message when its turn has ended, so leave it out",
    );
  }
  const answers = confirmationsOf(message);
  if (message.parts.some(({ modifiedArguments }) => modifiedArguments)) {
    throw unavailable(
      "modified_arguments",
      "the server runs a call as it is, so decline and say what you want",
    );
  }
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
  const { allowedTools, mcpServers, model, approvalMode, agent, agentOptions } =
    settings;
  if (allowedTools.length > 0) {
    throw unavailable(
      "allowed_tools",
      "the server's own settings name its tools",
    );
  }
  if (mcpServers.length > 0) {
    throw unavailable(
      "mcp_servers",
      "the server's own settings name its MCP servers",
    );
  }
  if (model !== "") {
    throw unavailable(
      "model",
      "the server alone chooses its model, so leave it out",
    );
  }
  assertNoAgent(agent);
  if (Object.keys(agentOptions).length > 0) {
    throw unavailable("agent_options", "the server's agent has none");
  }
  if (!APPROVAL_MODES.has(approvalMode)) {
    throw unavailable(
      "approval_mode",
      "the server knows only DEFAULT and YOLO",
    );
  }
}

/**
 * Throws a `ConnectError` if a request names an agent: a server of this dialect
 * has one, without a choice.
 */
export function assertNoAgent(agent: string): void {
  if (agent !== "") {
    throw unavailable("agent", "the server has one agent, so leave it out");
  }
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
  if (
    modifiedDetails.case !== undefined &&
    !offered.includes(OPTION_MODIFY_WITH_EDITOR)
  ) {
    const reason =
      "the server ignores an answer that changes content, so decline and say what you want";
    throw unavailable("modified_details", reason);
  }
  if (offered.includes(selectedOptionId)) return;
  const option = JSON.stringify(selectedOptionId);
  const problem = `option ${option} is not offered for ${subject}: choose ${offered.join(", ")}`;
  throw new ConnectError(problem, Code.InvalidArgument);
}

function unavailable(subject: string, reason: string): ConnectError {
  return new ConnectError(
    `${subject} is not available over the coderAgent dialect: ${reason}`,
    Code.Unimplemented,
  );
}
