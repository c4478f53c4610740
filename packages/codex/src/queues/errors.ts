import { create } from "@bufbuild/protobuf";
import {
  type SessionEvent,
  SessionEventSchema,
  type Submission,
} from "@devtool/schema/codex";
import { Code, DevtoolError } from "@devtool/server/agent";
import { withFieldNames } from "@devtool/server/dialect";

type OpCase = Submission["op"]["case"];

/** The fields of submissions, by the names that our own requests have for them. */
const FIELDS: Readonly<Record<string, string>> = {
  "message.message_id": "id",
  "message.parts": "user_input.items",
  workspace_path: "configure_session.cwd",
  model: "configure_session.model",
  "session_settings.agent": "configure_session.agent",
  task_id: "configure_session.session_id",
  cwd: "configure_session.cwd",
  agent: "configure_session.agent",
  resume_after: "configure_session.resume_after",
};

/** The names of the operations in the proto. */
export const OPS: Readonly<Record<NonNullable<OpCase>, string>> = {
  configureSession: "configure_session",
  userInput: "user_input",
  userTurn: "user_turn",
  interrupt: "interrupt",
  execApproval: "exec_approval",
  patchApproval: "patch_approval",
  userInputAnswer: "user_input_answer",
  shutdown: "shutdown",
};

/**
 * Returns an error that names the field of the submission which caused it,
 * where our own request has another name for it.
 */
export function inClientsWords(reason: unknown, op: OpCase): unknown {
  const name = op === undefined ? "op" : OPS[op];
  const ofOp = {
    tool_call_id: "call_id",
    selected_option_id: "option_id",
    decision: "decision",
    shown_digest: "shown_digest",
  };
  const ofTurn = {
    "message.parts": "items",
    model: "model",
    "message_settings.turn.working_directory": "cwd",
    "message_settings.turn.approval_policy": "approval_policy",
    "message_settings.turn.sandbox_policy": "sandbox_policy",
  };
  const inOp = Object.entries(op === "userTurn" ? ofTurn : ofOp).map(
    ([field, own]) => [field, `${name}.${own}`],
  );
  return withFieldNames(reason, { ...FIELDS, ...Object.fromEntries(inOp) });
}

/**
 * Returns the event that says why a submission failed. Throws errors that are
 * not the client's fault, which end the stream.
 */
export function errorEvent(
  id: string,
  op: OpCase,
  reason: unknown,
): SessionEvent {
  const { message, code, details } = DevtoolError.from(
    inClientsWords(reason, op),
  );
  if (code === Code.Internal) throw reason;
  // As Connect writes codes: `invalid_argument`.
  const word = Code[code].replaceAll(/(?<=[a-z])(?=[A-Z])/g, "_").toLowerCase();
  const value = { message, code: word, field: details?.field ?? "" };
  return create(SessionEventSchema, { id, msg: { case: "error", value } });
}
