import { create } from "@bufbuild/protobuf";
import {
  type Artifact,
  ArtifactSchema,
  type Message,
  Role,
  type Task,
} from "./gen/devtool/v1alpha/task_pb.ts";
import { confirmationsOf } from "./tool-call.ts";

/** The end of a completed turn. */
export interface TurnEnd {
  /** The sequence of the event that completed the turn. */
  readonly sequence: bigint;
  /** The agent's closing words, which that event has; empty for none. */
  readonly text: string;
  /**
   * The message whose exchange ends. Default: the last one before the end,
   * which differs where messages were queued.
   */
  readonly messageId?: string | undefined;
}

/**
 * Returns what an agent said in a completed turn as an artifact, where clients
 * of A2A without the extension look for the result (STREAM-10).
 *
 * Messages that tool calls or thoughts separate are paragraphs of its only
 * part. Undefined for a turn that said nothing beside its closing words or its
 * artifacts, and for a task whose answer is one message.
 */
export function answerArtifact(
  task: Task,
  end: TurnEnd = lastEnd(task),
): Artifact | undefined {
  const said = task.replyOnly ? [] : turnSteps(task, end).flatMap(textsOf);
  if (said.length === 0) return undefined;
  const text = [...said, end.text].filter((words) => words !== "").join("\n\n");
  if (task.artifacts.some((artifact) => textsOf(artifact).join("") === text)) {
    return undefined;
  }
  return create(ArtifactSchema, {
    artifactId: `${task.id}:answer`,
    name: "answer",
    parts: [{ content: { case: "text", value: text } }],
  });
}

/**
 * Returns the index in the history of the message that began a completed turn, 0
 * if there is none. Needs no content of messages.
 *
 * @param end the end of the turn. Default: that of the last turn
 */
export function answerStart(task: Task, end: TurnEnd = lastEnd(task)): number {
  return Math.max(0, turnRange(task, end).start);
}

function lastEnd({ sequence, stateText: text }: Task): TurnEnd {
  return { sequence, text };
}

/** Returns the agent's steps in a turn, oldest first. */
function turnSteps(task: Task, end: TurnEnd): Message[] {
  const { start, turns } = turnRange(task, end);
  return turns.slice(start + 1).filter(({ role }) => role === Role.AGENT);
}

/**
 * Returns the history up to the last step of a turn, and the index of the
 * message that began the turn, -1 if there is none.
 */
function turnRange({ history }: Task, { sequence, messageId }: TurnEnd) {
  // Later turns may have begun since. A step's id ends with the sequence at
  // which the step began.
  const isBefore = ({ role, messageId: id }: Message): boolean =>
    role === Role.AGENT &&
    Number(id.slice(id.lastIndexOf(":") + 1)) <= Number(sequence);
  const turns = history.slice(0, history.findLastIndex(isBefore) + 1);
  const sent = turns.findLastIndex(
    (message) => message.role === Role.USER && message.messageId === messageId,
  );
  // An answer to a question does not begin a turn.
  const start = turns
    .slice(0, sent < 0 ? turns.length : sent + 1)
    .findLastIndex(
      (message) =>
        message.role === Role.USER && confirmationsOf(message).length === 0,
    );
  return { start, turns };
}

/**
 * Returns the texts among some parts. Only what a user sees between two of them
 * separates them.
 */
function textsOf({ parts }: Pick<Message, "parts">): string[] {
  const texts: string[] = [];
  let isOpen = false;
  for (const { content } of parts) {
    if (content.case === "text") {
      const text = (isOpen ? texts.pop() : undefined) ?? "";
      texts.push(text + content.value);
      isOpen = true;
    } else if (content.case !== "citation") {
      isOpen = false;
    }
  }
  return texts.filter((text) => text !== "");
}
