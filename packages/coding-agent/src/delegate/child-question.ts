import { hash } from "node:crypto";
import { create, type JsonObject, toJson } from "@bufbuild/protobuf";
import { type AskedToolCall, pendingToolCalls } from "@devtool/client";
import { canonicalJson } from "@devtool/internal/json";
import { oneLine } from "@devtool/internal/visible-text";
import {
  awaitedToolCalls,
  type ConfirmationOption,
  ConfirmationOptionSchema,
  ConfirmationRequestSchema,
  findToolCallDetail,
  GenericDetailsSchema,
  isInterrupted,
  OPTION_CANCEL,
  OPTION_PROCEED_ONCE,
  type Part,
  Role,
  reachOfAnswer,
  type Task,
  TaskState,
} from "@devtool/schema";
import { quoted } from "@devtool/server/agent";
import { delegationOf } from "../tool/delegation.ts";
import type { LastingQuestion } from "../tool/tool.ts";

/** A question of a called agent's task, and the call that asks it. */
export interface ChildQuestion {
  /** Undefined for a question in words. */
  readonly call: AskedToolCall | undefined;
  readonly question: LastingQuestion;
  /** The size of what the question shows, in bytes. */
  readonly bytes: number;
}

/** The maximum number of agents of a path that are named. */
const MAX_PATH = 16;
/** The maximum length of a name that another agent gives, in characters. */
const MAX_NAME_LENGTH = 64;

/**
 * Returns the first question of a called agent's task, for the user: with all
 * that its own user would be shown, and with the path to what asks. Undefined
 * when the task asks nothing.
 *
 * The agent is named as it is configured here; what it says of itself is in
 * quotes. Answers that allow more than this one call are left out.
 *
 * @param reason why it is asked again; empty for the first time
 */
export function questionOf(
  agent: string,
  task: Task,
  reason: string,
): ChildQuestion | undefined {
  const [call] = pendingToolCalls(task);
  if (call) return { call, ...callQuestion(agent, task, call, reason) };
  if (!isInterrupted(task.state)) return undefined;
  return { call: undefined, ...textQuestion(agent, task, reason) };
}

/**
 * Returns whether a task asks what it asked before an event. Compares no call,
 * which may be large: false does not say that the question is another one.
 */
export function asksAsBefore(before: Task, now: Task): boolean {
  const [asked] = awaitedToolCalls(before);
  const [call] = awaitedToolCalls(now);
  if (asked && call) {
    const { toolCallId: id } = call;
    const detail = findToolCallDetail(before, id);
    return asked === call && detail === findToolCallDetail(now, id);
  }
  return (
    asked === call &&
    before.state === now.state &&
    before.history.length === now.history.length &&
    wordsOf(before) === wordsOf(now)
  );
}

function callQuestion(
  agent: string,
  task: Task,
  call: AskedToolCall,
  reason: string,
): Omit<ChildQuestion, "call"> {
  const { toolCallId, toolName, description = "", inputParameters } = call;
  const detail = findToolCallDetail(task, toolCallId);
  const below = detail?.delegation;
  const path = below ? [below.agent, ...below.path] : [];
  const delegation = delegationOf({
    agent,
    taskId: task.id,
    path: path.slice(0, MAX_PATH).map(shortName),
    tool: shortName(below?.tool || toolName),
  });
  const { options = [], details = NO_DETAILS } = call.confirmationRequest ?? {};
  return withDigest(
    {
      key: toolCallId,
      description: `${pathText(delegation)}: ${quoted(oneLine(description))}`,
      details: ofAgent(agent, details),
      options: options.filter(({ id }) => reachOfAnswer(id) !== "always"),
      delegation,
      args: inputParameters ?? {},
      argumentsEditable: call.argumentsEditable === true,
      reason,
    },
    Buffer.from(call.shownDigest ?? []).toString("hex"),
  );
}

const NO_DETAILS = { case: undefined };

function shortName(name: string): string {
  return oneLine(name, MAX_NAME_LENGTH);
}

/** Writes who asks: the agent by its name here, and in quotes what it says. */
function pathText({
  agent,
  path,
  tool,
}: LastingQuestion["delegation"]): string {
  const claimed = [...path, tool].filter((name) => name !== "").map(quoted);
  return `Agent ${[agent, ...claimed].join(" → ")} asks`;
}

/** Returns details that are words with the name of the agent whose they are. */
function ofAgent(
  agent: string,
  details: LastingQuestion["details"],
): LastingQuestion["details"] {
  if (details.case !== "genericDetails") return details;
  const description = `Agent ${agent} asks:\n${details.value.description}`;
  return {
    case: "genericDetails",
    value: create(GenericDetailsSchema, { description }),
  };
}

/** A question of an agent that asks in words, or waits for a message. */
function textQuestion(
  agent: string,
  task: Task,
  reason: string,
): Omit<ChildQuestion, "call"> {
  const { history, id: taskId, state } = task;
  const text = wordsOf(task);
  const isSignIn = state === TaskState.AUTH_REQUIRED;
  const asks = isSignIn ? "wants you to sign in" : "asks";
  const description = `Agent ${agent} ${asks}:\n${text || "It waits for a message."}`;
  return withDigest(
    {
      // Every message of the task makes it another question.
      key: `message ${history.length}`,
      description: `Agent ${agent} ${asks}`,
      details: {
        case: "genericDetails",
        value: create(GenericDetailsSchema, { description }),
      },
      options: [
        option(
          OPTION_PROCEED_ONCE,
          isSignIn ? "I signed in" : "Send the answer",
        ),
        option(OPTION_CANCEL, "Decline"),
      ],
      delegation: delegationOf({ agent, taskId }),
      args: {},
      argumentsEditable: false,
      reason,
    },
    "",
  );
}

/** Returns what a task asks in words: its last message, and that of its state. */
function wordsOf({ history, stateText }: Task): string {
  const said = history.findLast(({ role }) => role === Role.AGENT);
  return [said ? textOf(said.parts) : "", stateText]
    .filter((one, index, all) => one !== "" && all.indexOf(one) === index)
    .join("\n");
}

function option(id: string, name: string): ConfirmationOption {
  return create(ConfirmationOptionSchema, { id, name });
}

/** Joins the texts of parts. */
export function textOf(parts: readonly Part[]): string {
  return parts
    .flatMap(({ content }) => (content.case === "text" ? content.value : []))
    .join("");
}

/** @param shown the digest that the agent gave its question; empty for none */
function withDigest(
  question: Omit<LastingQuestion, "digest">,
  shown: string,
): Omit<ChildQuestion, "call"> {
  const { description, details, options, args, reason, key } = question;
  const request = create(ConfirmationRequestSchema, {
    details,
    options: [...options],
  });
  const all: JsonObject = {
    key,
    shown,
    description,
    request: toJson(ConfirmationRequestSchema, request),
    args,
    reason,
  };
  const text = canonicalJson(all);
  const digest = hash("sha256", text, "buffer");
  return { question: { ...question, digest }, bytes: Buffer.byteLength(text) };
}
