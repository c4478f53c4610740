import type { MessageInitShape } from "@bufbuild/protobuf";
import { oneLine, quotedLines } from "@devtool/internal/visible-text";
import {
  awaitedToolCalls,
  confirmationsOf,
  declineOf,
  findToolCall,
  findToolCallDetail,
  isInterrupted,
  isQuestionOfCall,
  OPTION_CANCEL,
  OPTION_MODIFY_WITH_EDITOR,
  type PartSchema,
  reachOfAnswer,
  renderWholeAsked,
  type Task,
  type ToolCall,
  visibleCall,
} from "@devtool/schema";
import type { InputRequest } from "@modelcontextprotocol/server";
import * as z from "zod";

type PartInit = MessageInitShape<typeof PartSchema>;

/** A question of a tool call that waits for an answer. */
export interface OpenQuestion {
  /**
   * Identifies the question, and no other one of its task, ever: the call, how
   * often it was answered before, and the digest of what is shown.
   */
  readonly key: string;
  /** All that is approved, in words. */
  readonly text: string;
  readonly options: readonly QuestionOption[];
  /**
   * The called agent through which it came, then what that one names: the
   * agents below it, and the tool that asks. Empty for one of the task's agent.
   */
  readonly path: readonly string[];
  /** Whether the answer may have words of the user's own. */
  readonly takesText: boolean;
  readonly call: ToolCall;
  readonly shownDigest: Uint8Array;
}

interface QuestionOption {
  readonly id: string;
  readonly name: string;
}

/** Lists the questions of a task with its whole history, oldest first. */
export function openQuestions(task: Task): OpenQuestion[] {
  if (!isInterrupted(task.state)) return [];
  return awaitedToolCalls(task).map((call) => {
    const { digest = new Uint8Array() } =
      findToolCallDetail(task, call.toolCallId) ?? {};
    const answered = task.history
      .flatMap(confirmationsOf)
      .filter(({ toolCallId }) => toolCallId === call.toolCallId).length;
    const shown = visibleCall(call);
    const { options = [], details } = shown.confirmationRequest ?? {};
    return {
      key: `${call.toolCallId}:${answered}:${Buffer.from(digest).toString("base64url")}`,
      text: [renderWholeAsked(shown), ...parentLines(task, call)].join("\n"),
      path: pathOf(task, call),
      // A form has no place for a file that is edited by hand.
      options: options
        .filter(({ id }) => id !== OPTION_MODIFY_WITH_EDITOR)
        .map(({ id, name, description }) => ({
          id,
          name: description === undefined ? name : `${name}: ${description}`,
        })),
      takesText:
        details?.case === "genericDetails" &&
        (isQuestionOfCall(task, call.toolCallId) ||
          options.some(({ id }) => reachOfAnswer(id) === "other")),
      call,
      shownDigest: digest,
    };
  });
}

/** Names the running call that a question is asked for, and who asks it. */
function parentLines(task: Task, call: ToolCall): string[] {
  const { toolCallId } = call;
  const { parentToolCallId = "" } = findToolCallDetail(task, toolCallId) ?? {};
  const parent = findToolCall(task, parentToolCallId);
  if (!parent) return [];
  const [agent = "", ...claimed] = pathOf(task, call);
  const way = [agent, ...claimed.map((name) => JSON.stringify(name))];
  const { toolName, description = "" } = parent;
  return [
    ...(agent === "" ? [] : [`It comes from: ${way.join(" → ")}`]),
    `It is asked for the running call ${oneLine(toolName)}: ${oneLine(description)}`,
  ];
}

function pathOf(task: Task, { toolCallId }: ToolCall): string[] {
  const { delegation } = findToolCallDetail(task, toolCallId) ?? {};
  const { agent = "", path = [], tool = "" } = delegation ?? {};
  if (agent === "") return [];
  return [
    agent,
    ...[...path, tool].filter(Boolean).map((name) => oneLine(name)),
  ];
}

/**
 * Returns the key of what a task waits for that waits for a message, not for an
 * answer to a call. Each message makes another one.
 */
export function messageKey({ history }: Task): string {
  return `message:${history.length}`;
}

/** Returns the request that a host shows its user as a form. */
export function questionRequest({
  text,
  options,
  takesText,
}: OpenQuestion): InputRequest {
  const choices = options.map(({ name }) => `- ${name}`);
  return {
    method: "elicitation/create",
    params: {
      mode: "form",
      message: [text, "", "Answers:", ...choices].join("\n"),
      requestedSchema: {
        type: "object",
        properties: {
          answer: {
            type: "string",
            title: "Answer",
            enum: options.map(({ id }) => id),
            // Hosts of all revisions read these.
            enumNames: options.map(({ name }) => name),
          },
          ...(takesText && {
            text: {
              type: "string" as const,
              title: "In your own words",
            },
          }),
        },
        required: ["answer"],
      },
    },
  };
}

/** The maximum number of lines of an agent's words in a form. */
const MAX_LINES = 100;

/**
 * Returns the request for the message that a task waits for. What the agent
 * says stands behind `│`, so that none of it looks like ours.
 */
export function messageRequest(said: string): InputRequest {
  const words = said === "" ? [] : ["It says:", quotedLines(said, MAX_LINES)];
  return {
    method: "elicitation/create",
    params: {
      mode: "form",
      message: ["The agent waits for a message.", ...words].join("\n"),
      requestedSchema: {
        type: "object",
        properties: {
          text: { type: "string", title: "Message", minLength: 1 },
        },
        required: ["text"],
      },
    },
  };
}

/** What a host returns for a form. */
export interface HostAnswer {
  readonly action: "accept" | "decline" | "cancel";
  readonly content?: Readonly<Record<string, unknown>> | undefined;
}

const Answer: z.ZodType<HostAnswer> = z.looseObject({
  action: z.enum(["accept", "decline", "cancel"]),
  content: z.record(z.string(), z.unknown()).optional(),
});

/**
 * Reads what a host returned for a question. Throws a `z.ZodError` for what is
 * no answer to any form.
 */
export function readAnswer(response: unknown): HostAnswer {
  return Answer.parse(response);
}

/**
 * Returns the parts of a message that answer a question as a host returned it.
 *
 * An answer that is not offered declines, so that no host approves by accident.
 * To dismiss a question cancels what the call would do, and ends the agent's
 * turn where the agent tells that from a plain no.
 */
export function answerParts(
  question: OpenQuestion,
  { action, content = {} }: HostAnswer,
): PartInit[] {
  const offered = question.options.map(({ id }) => id);
  switch (action) {
    case "accept": {
      const { answer, text } = content;
      const chosen = offered.find((id) => id === answer);
      return confirm(
        question,
        chosen ?? declineOf(visibleCall(question.call)),
        typeof text === "string" ? text : "",
      );
    }
    case "decline":
      return confirm(question, declineOf(visibleCall(question.call)), "");
    case "cancel":
      return confirm(
        question,
        offered.includes(OPTION_CANCEL)
          ? OPTION_CANCEL
          : declineOf(visibleCall(question.call)),
        "",
      );
    default:
      return action satisfies never;
  }
}

/** Returns the parts of a message that answer a question with an option. */
export function confirm(
  { call, shownDigest }: OpenQuestion,
  selectedOptionId: string,
  text: string,
): PartInit[] {
  const value = { toolCallId: call.toolCallId, selectedOptionId };
  return [
    { shownDigest, content: { case: "confirmation", value } },
    ...(text === ""
      ? []
      : [{ content: { case: "text" as const, value: text } }]),
  ];
}
