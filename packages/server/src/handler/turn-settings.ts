import {
  ApprovalPolicy,
  confirmationsOf,
  type Message,
  SandboxPolicy,
} from "@devtool/schema";
import { turnDirectory } from "../agent/turn-directory.ts";
import { invalid } from "../errors.ts";
import type { SessionOptions, Settings } from "./session-settings.ts";

/**
 * Throws a `DevtoolError` for settings of a turn that a message cannot have, or
 * that the agent of its session cannot follow.
 */
export function assertTurn(
  message: Message,
  session: Settings,
  options: Pick<SessionOptions, "assertTurn">,
): void {
  const { turnSettings } = message;
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
  assertPolicy("approval_policy", approvalPolicy, ApprovalPolicy);
  assertPolicy("sandbox_policy", sandboxPolicy, SandboxPolicy);
  options.assertTurn(session.sessionSettings?.agent ?? "", turnSettings);
  turnDirectory(session, message);
}

/**
 * Refuses a policy that this server does not know: that of a newer client may
 * be stricter than all others.
 */
function assertPolicy(
  field: string,
  value: number,
  known: Readonly<Record<number, string>>,
): void {
  if (known[value] === undefined) {
    throw invalid(
      `message_settings.turn.${field}`,
      String(value),
      "is not a policy",
    );
  }
}
