import { create } from "@bufbuild/protobuf";
import {
  ApprovalPolicy,
  confirmationsOf,
  type Message,
  SandboxPolicy,
  SessionSettingsSchema,
} from "@devtool/schema";
import type { ConversationKey } from "../agent/agent.ts";
import { turnDirectory } from "../agent/turn-directory.ts";
import { invalid } from "../errors.ts";
import { assertBudget } from "../task/turn-budget.ts";
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
  const { turnSettings, model } = message;
  const { agent = "" } = session.sessionSettings ?? {};
  agents.assertFollowed(
    create(SessionSettingsSchema, { agent, model }),
    turnSettings,
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
