import type { ReviewDecision, SessionEvent } from "@devtool/schema/codex";
import type { Op } from "./client-stream.ts";

/** The operation that gives the agent a text. */
export function input(text: string): Op {
  return {
    case: "userInput",
    value: { items: [{ content: { case: "text", value: text } }] },
  };
}

/** The operation that answers the question about a call. */
export function approval(
  op: "execApproval" | "patchApproval",
  callId: string,
  decision: ReviewDecision,
): Op {
  return { case: op, value: { callId, decision } };
}

/** Returns the id of the session that an event configures. */
export function sessionOf(event: SessionEvent | undefined): string {
  return event?.msg.case === "sessionConfigured"
    ? event.msg.value.sessionId
    : "";
}

/** Returns the id of the call that an event is about. */
export function callOf({ msg }: SessionEvent): string {
  return msg.value && "callId" in msg.value ? msg.value.callId : "";
}

/** Returns the submission, the code, the field and the message of an error. */
export function errorOf({ id, msg }: SessionEvent): unknown[] {
  if (msg.case !== "error") return [id, msg.case];
  const { code, field, message } = msg.value;
  return [id, code, field, message];
}

/** Returns the answer of the agent. */
export function wordsIn(events: readonly SessionEvent[]): string {
  return events
    .flatMap(({ msg }) =>
      msg.case === "agentMessageDelta" ? [msg.value.delta] : [],
    )
    .join("");
}
