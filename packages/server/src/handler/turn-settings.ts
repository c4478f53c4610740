import { create } from "@bufbuild/protobuf";
import { shorten } from "@devtool/internal/cut-text";
import {
  ApprovalPolicy,
  confirmationsOf,
  type Message,
  SandboxPolicy,
  SessionSettingsSchema,
  type Task,
} from "@devtool/schema";
import type { ConversationKey } from "../agent/agent.ts";
import { turnDirectory } from "../agent/turn-directory.ts";
import { Code, DevtoolError, invalid, quoted } from "../errors.ts";
import { assertBudget } from "../task/turn-budget.ts";
import { assertMayUse, type SendingCaller } from "./caller.ts";
import { assertKnownValue } from "./name-limit.ts";
import type { SessionOptions, Settings } from "./session-settings.ts";

/**
 * Throws a `DevtoolError` for a model or settings of a turn that a message
 * cannot have, or that the agent of its session does not follow.
 */
export function assertTurn(
  message: Message,
  session: Settings,
  conversation: ConversationKey,
  { agents }: Pick<SessionOptions, "agents">,
): void {
  const { turnSettings, fork, model } = message;
  const { agent = "" } = session.sessionSettings ?? {};
  agents.assertFollowed(
    create(SessionSettingsSchema, { agent, model }),
    { turn: turnSettings, fork },
    conversation,
  );
  if (!turnSettings) return;
  if (confirmationsOf(message).length > 0) {
    const problem =
      "cannot come with an answer to a tool call, whose turn has begun";
    throw invalid(
      "message_settings.turn",
      "",
      problem,
      "send it with a message",
    );
  }
  const { approvalPolicy, sandboxPolicy } = turnSettings;
  const field = "message_settings.turn";
  assertKnownValue(`${field}.approval_policy`, approvalPolicy, ApprovalPolicy);
  assertKnownValue(`${field}.sandbox_policy`, sandboxPolicy, SandboxPolicy);
  turnDirectory(session, message);
  assertBudget(`${field}.budget`, turnSettings.budget);
}

/** The limits of what a goal holds. */
const MAX_CHECKS = 8;
const MAX_CHECK = 4_096;
const MAX_TURNS = 1_000;

/**
 * Throws `Code.InvalidArgument` for a goal that a message cannot have, or that
 * nothing here can check, and `Code.PermissionDenied` where the sender may not
 * use the agent that would run its commands.
 */
export function assertGoal(
  message: Message,
  { sessionSettings }: Settings,
  caller: SendingCaller,
  { agents }: Pick<SessionOptions, "agents">,
): void {
  const { goal } = message;
  if (!goal) return;
  const field = "message_settings.goal";
  if (confirmationsOf(message).length > 0) {
    const problem = "cannot come with an answer to a tool call";
    throw invalid(field, "", problem, "send it with a message");
  }
  const checker = agents.checkerOf(sessionSettings?.agent ?? "");
  if (checker === undefined) {
    const problem =
      "cannot be checked here: no agent of this server runs checks";
    throw invalid(field, "", problem, "have the operator serve devtool's own");
  }
  assertMayUse(checker, caller);
  const { checks, maxTurns, budget } = goal;
  if (checks.length === 0 || checks.length > MAX_CHECKS) {
    const problem = `are not 1 to ${MAX_CHECKS} commands`;
    const remedy = "name commands whose exit code 0 says that it is achieved";
    throw invalid(`${field}.checks`, String(checks.length), problem, remedy);
  }
  for (const check of checks) {
    if (check.trim() !== "" && check.length <= MAX_CHECK) continue;
    const problem = `is not a command of 1 to ${MAX_CHECK} characters`;
    throw invalid(`${field}.checks`, shorten(check), problem);
  }
  if (maxTurns < 0 || maxTurns > MAX_TURNS) {
    const problem = `is not 1 to ${MAX_TURNS}, or 0 for the default`;
    throw invalid(`${field}.max_turns`, String(maxTurns), problem);
  }
  assertBudget(`${field}.budget`, budget);
}

/**
 * Throws for a caller who may not have a task go on with its goal:
 * `Code.PermissionDenied` where they may not use its agent or the one that runs
 * its checks, and `Code.FailedPrecondition` where their roles are not those of
 * the message that set the goal, since its turns have the rights of that.
 */
export function assertMayResume(
  { id, history, sessionSettings }: Task,
  caller: SendingCaller,
  { agents }: Pick<SessionOptions, "agents">,
): void {
  const agent = sessionSettings?.agent ?? "";
  assertMayUse(agent, caller);
  assertMayUse(agents.checkerOf(agent) ?? "", caller);
  const origin = history.findLast(({ goal }) => goal !== undefined);
  const rolesOf = (sender: Message["sender"]): string =>
    JSON.stringify(sender?.roles ?? []);
  if (!origin || rolesOf(origin.sender) === rolesOf(caller.sender)) return;
  throw new DevtoolError(
    `the goal of task ${quoted(id)} was set with other roles than yours now`,
    Code.FailedPrecondition,
    { remedy: "send a message with the goal" },
  );
}
