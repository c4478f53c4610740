import { create, equals, toJson } from "@bufbuild/protobuf";
import { base64Decode } from "@bufbuild/protobuf/wire";
import { ValueSchema } from "@bufbuild/protobuf/wkt";
import { isObject } from "@devtool/internal/json";
import { declineOf, reachOfAnswer } from "../answer-name.ts";
import { ToolCallConfirmationSchema } from "../gen/devtool/a2a/v1alpha/confirmation_pb.ts";
import {
  type ApprovalPayload,
  ApprovalPayloadSchema,
  InputPayloadSchema,
  type ResumeEntry,
} from "../gen/devtool/ag_ui/v1alpha/run_pb.ts";
import {
  type Part,
  PartSchema,
  type Task,
} from "../gen/devtool/v1alpha/task_pb.ts";
import { decodeStrictJson } from "../strict-json.ts";
import {
  findConfirmation,
  findToolCall,
  OPTION_CANCEL,
  OPTION_MODIFY_ARGUMENTS,
  OPTION_PROCEED_ONCE,
  OPTION_REJECT,
} from "../tool-call.ts";
import { missing, quote, WireError } from "../wire-error.ts";
import {
  callInterruptId,
  inputInterruptId,
  interruptsOf,
} from "./interrupts.ts";

/** The answers of a run, decoded. */
export type Resumption =
  /** The answers, as parts of a message. */
  | { readonly case: "answers"; readonly parts: readonly Part[] }
  /** The user declines to give the input that the task waits for. */
  | { readonly case: "cancel" }
  /** The answers were recorded before. */
  | { readonly case: "replay" };

/**
 * Reads the answers to the interrupts of a task. `entries` has at least one.
 *
 * Throws a `WireError` that names the entry for one that is malformed, given
 * twice or for nothing in this thread, and if an open interrupt has no answer.
 * An answer to a question that has changed is left to the server to refuse
 * (TOOL-11).
 */
export function readResume(
  entries: readonly ResumeEntry[],
  task: Task,
): Resumption {
  const open = new Set(interruptsOf(task, () => undefined).map(({ id }) => id));
  const seen = new Set<string>();
  const answers = entries.map((entry, index) => {
    const path = `resume[${index}]`;
    assertEntry(entry, seen, path);
    seen.add(entry.interruptId);
    return { entry, path, isOpen: open.has(entry.interruptId) };
  });
  const [first, ...others] = answers;
  if (
    first &&
    others.length === 0 &&
    first.entry.interruptId === inputInterruptId(task) &&
    first.isOpen
  ) {
    return inputOf(first.entry, first.path);
  }
  if (first && others.length === 0 && isRecordedInput(first.entry, task)) {
    return { case: "replay" };
  }
  const parts = answers.map(({ entry, path }) => answerOf(entry, task, path));
  const areRecorded = parts.every((part) => isRecorded(part, task));
  if (areRecorded && answers.every(({ isOpen }) => !isOpen)) {
    return { case: "replay" };
  }
  const unanswered = [...open].filter((id) => !seen.has(id));
  // An answer to another question than the open one is refused by the server,
  // which says why.
  if (unanswered.length > 0 && answers.every(({ isOpen }) => isOpen)) {
    throw new WireError(
      "resume",
      "",
      `must answer all open interrupts: ${unanswered.map((id) => JSON.stringify(id)).join(", ")} are missing`,
    );
  }
  return { case: "answers", parts };
}

function assertEntry(
  { interruptId, status, payload }: ResumeEntry,
  seen: ReadonlySet<string>,
  path: string,
): void {
  const wrong = (field: string, value: string, problem: string): WireError =>
    new WireError(`${path}.${field}`, quote(value), problem);
  if (interruptId === "") {
    throw missing(`${path}.interruptId`, "name the interrupt");
  }
  if (seen.has(interruptId)) {
    throw wrong("interruptId", interruptId, "is answered twice");
  }
  if (status !== "resolved" && status !== "cancelled") {
    throw wrong("status", status, "is not one of resolved, cancelled");
  }
  if (status === "cancelled" && payload !== undefined) {
    const problem =
      'is set with status "cancelled": leave it out, or send "resolved"';
    throw wrong("payload", "", problem);
  }
}

/** Reads the answer to a task that waits for a message. */
function inputOf({ status, payload }: ResumeEntry, path: string): Resumption {
  if (status === "cancelled") return { case: "cancel" };
  const { text } = decodeStrictJson(
    InputPayloadSchema,
    payload && toJson(ValueSchema, payload),
    `${path}.payload`,
  );
  if (text === "") {
    throw missing(`${path}.payload.text`, "say what the agent waits for");
  }
  return {
    case: "answers",
    parts: [create(PartSchema, { content: { case: "text", value: text } })],
  };
}

/**
 * Returns the part of a message that answers the question which an entry names.
 *
 * Throws a `WireError` that names the field below `path` for an entry that
 * answers nothing here, and for a payload that is malformed or contradicts
 * itself.
 */
function answerOf(
  { interruptId, status, payload }: ResumeEntry,
  task: Task,
  path: string,
): Part {
  const question = questionOf(interruptId, task);
  if (!question) {
    const problem =
      "is not an interrupt of this thread: answer those that its last run ended with";
    throw new WireError(`${path}.interruptId`, quote(interruptId), problem);
  }
  const { toolCallId, shownDigest, decline } = question;
  if (status === "cancelled") {
    const value = { toolCallId, selectedOptionId: OPTION_CANCEL };
    return create(PartSchema, {
      shownDigest,
      content: { case: "confirmation", value },
    });
  }
  const at = `${path}.payload`;
  const approval = decodeStrictJson(
    ApprovalPayloadSchema,
    payload && toJson(ValueSchema, payload),
    at,
  );
  const { editedArgs: modifiedArguments, newContent } = approval;
  // Whether the call offers the option is left to the server.
  const selectedOptionId = optionOf(approval, decline, at);
  if (
    reachOfAnswer(selectedOptionId) === "decline" &&
    newContent !== undefined
  ) {
    throw new WireError(
      `${at}.newContent`,
      "",
      "does not go with a call that is declined: leave it out",
    );
  }
  const modifiedDetails =
    newContent === undefined
      ? undefined
      : ({ case: "fileDetails", value: { newContent } } as const);
  const value = {
    toolCallId,
    selectedOptionId,
    ...(modifiedDetails && { modifiedDetails }),
  };
  return create(PartSchema, {
    shownDigest,
    content: { case: "confirmation", value },
    ...(modifiedArguments && { modifiedArguments }),
  });
}

/**
 * Returns the question of a call that an interrupt stands for. Undefined if the
 * task has no such call, or the id has no digest of a question.
 */
function questionOf(
  interruptId: string,
  task: Task,
): AnsweredQuestion | undefined {
  // The id of the interrupt is that of the call, and the digest of the question
  // in base64url.
  const colon = interruptId.lastIndexOf(":");
  const toolCallId = interruptId.slice(0, colon);
  const encoded = interruptId.slice(colon + 1);
  const isEncoded =
    colon >= 0 && /^[\w-]*$/.test(encoded) && encoded.length % 4 !== 1;
  const call = findToolCall(task, toolCallId);
  if (!isEncoded || !call) return undefined;
  const shownDigest = base64Decode(encoded);
  // An answer without a digest would count for any question of the call.
  const namesNoQuestion =
    shownDigest.length === 0 &&
    interruptId !== callInterruptId(toolCallId, task);
  if (namesNoQuestion) return undefined;
  const given = findConfirmation(task, toolCallId)?.selectedOptionId;
  const isRejected = !call.confirmationRequest && given === OPTION_REJECT;
  const decline = isRejected ? OPTION_REJECT : declineOf(call);
  return { toolCallId, shownDigest, decline };
}

/** The question that an entry answers. */
interface AnsweredQuestion {
  readonly toolCallId: string;
  readonly shownDigest: Uint8Array;
  /** The option that a plain no means, also in a retry of the answer. */
  readonly decline: string;
}

function optionOf(
  { approved, option, editedArgs }: ApprovalPayload,
  decline: string,
  path: string,
): string {
  if (approved === undefined) {
    throw missing(`${path}.approved`, "send true or false");
  }
  if (editedArgs) {
    if (approved && (option === "" || option === OPTION_MODIFY_ARGUMENTS)) {
      return OPTION_MODIFY_ARGUMENTS;
    }
    const problem =
      "go with approved: true and no option, since the call asks again with them";
    throw new WireError(`${path}.editedArgs`, "", problem);
  }
  if (option === "") return approved ? OPTION_PROCEED_ONCE : decline;
  const reach = reachOfAnswer(option);
  const allows = reach !== "decline" && reach !== "other";
  if (approved ? reach === "decline" : allows) {
    const problem = `contradicts approved: ${approved}, so nothing is decided: send them so that they agree`;
    throw new WireError(`${path}.option`, quote(option), problem);
  }
  return option;
}

/**
 * Returns whether an answer is the message that already follows its question in
 * this task.
 */
function isRecordedInput(
  { interruptId, payload }: ResumeEntry,
  { id, history }: Task,
): boolean {
  const prefix = `${id}:input:`;
  const answer = interruptId.startsWith(prefix)
    ? history[Number(interruptId.slice(prefix.length))]
    : undefined;
  const json = payload && toJson(ValueSchema, payload);
  return (
    answer !== undefined &&
    isObject(json) &&
    answer.parts.some(({ content }) => content.value === json.text)
  );
}

/** Returns whether an answer equals the last one to its call. */
function isRecorded({ content }: Part, task: Task): boolean {
  if (content.case !== "confirmation") return false;
  const last = findConfirmation(task, content.value.toolCallId);
  return (
    last !== undefined &&
    equals(ToolCallConfirmationSchema, last, content.value)
  );
}
