import { Code, ConnectError } from "@connectrpc/connect";
import {
  ApprovalMode,
  confirmationsOf,
  findToolCall,
  isAwaitingApproval,
  type Message,
  OPTION_MODIFY_WITH_EDITOR,
  openToolCalls,
  type SendMessageRequest,
  type SessionSettings,
  type Task,
  type ToolCallConfirmation,
} from "@devtool/schema";

/**
 * Checks what the peer would not: it leaves a stream open without a word for an answer that it does not understand, and
 * for a prompt in place of an answer. Throws a `ConnectError` before anything is sent.
 */
export function assertSendable(
  { message, taskId, returnImmediately, sessionSettings }: SendMessageRequest,
  task: Task,
): void {
  if (!message) throw new ConnectError("message: is missing", Code.InvalidArgument);
  if (returnImmediately) throw unable("return_immediately", "the server stops its work when nobody listens: stream");
  if (message.model !== "") throw unable("model", "the server alone chooses its model: leave it out");
  if (sessionSettings) assertSettings(sessionSettings);
  const answers = confirmationsOf(message);
  for (const answer of answers) assertAnswer(answer, task);
  if (taskId !== "" && answers.length === 0) assertNotAsked(message, task);
}

function assertSettings({ allowedTools, mcpServers, model, approvalMode }: SessionSettings): void {
  if (allowedTools.length > 0) throw unable("allowed_tools", "the server's own settings name its tools");
  if (mcpServers.length > 0) throw unable("mcp_servers", "the server's own settings name its MCP servers");
  if (model !== "") throw unable("model", "the server alone chooses its model: leave it out");
  if (!MODES.has(approvalMode)) throw unable("approval_mode", "the server knows only asking and not asking");
}

const MODES: ReadonlySet<ApprovalMode> = new Set([ApprovalMode.UNSPECIFIED, ApprovalMode.DEFAULT, ApprovalMode.YOLO]);

function assertAnswer({ toolCallId, selectedOptionId, modifiedDetails }: ToolCallConfirmation, task: Task): void {
  const call = findToolCall(task, toolCallId);
  const subject = `tool call ${JSON.stringify(toolCallId)}`;
  if (!call)
    throw new ConnectError(`${subject} was not asked about: answer where the question came`, Code.InvalidArgument);
  if (!isAwaitingApproval(call))
    throw new ConnectError(`${subject} does not wait for an answer`, Code.FailedPrecondition);
  const offered = call.confirmationRequest?.options.map(({ id }) => id) ?? [];
  if (modifiedDetails.case !== undefined && !offered.includes(OPTION_MODIFY_WITH_EDITOR)) {
    throw unable("modified_details", "the server loses an answer that changes content: decline, and say what you want");
  }
  if (offered.includes(selectedOptionId)) return;
  const option = JSON.stringify(selectedOptionId);
  throw new ConnectError(
    `option ${option} is not offered for ${subject}: choose ${offered.join(", ")}`,
    Code.InvalidArgument,
  );
}

function assertNotAsked(message: Message, task: Task): void {
  const [asked] = openToolCalls(task).filter(isAwaitingApproval);
  if (!asked) return;
  throw new ConnectError(
    `message ${JSON.stringify(message.messageId)} comes while tool call ${JSON.stringify(asked.toolCallId)} waits: answer it or cancel the task`,
    Code.FailedPrecondition,
  );
}

function unable(subject: string, reason: string): ConnectError {
  return new ConnectError(`${subject} cannot be had over the coderAgent dialect: ${reason}`, Code.Unimplemented);
}
