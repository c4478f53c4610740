import { keepEnd, keepStart } from "@devtool/internal/cut-text";
import { oneLine } from "@devtool/internal/visible-text";
import {
  type Artifact,
  dataText,
  isTerminal,
  type Message,
  Role,
  type Task,
  TaskState,
  ToolCallStatus,
} from "@devtool/schema";
import type { ToolEvent } from "../tool/tool.ts";
import { failureResult, textResult } from "../tool/tool-result.ts";
import { textOf } from "./child-question.ts";

/**
 * Returns what a called agent has done since it was last told something, as the
 * live output of the call: its words, and a line for each of its tool calls.
 *
 * @param maxLength the maximum length in characters; the end is kept
 */
export function liveReport(task: Task, maxLength: number): string {
  const lines = workOf(task).flatMap(({ parts }) =>
    parts.flatMap(({ content }) => {
      if (content.case === "text") return content.value;
      if (content.case !== "toolCall") return [];
      const { status, toolName, description = "" } = content.value;
      return `${MARKS[status]} ${toolName} ${oneLine(description)}`;
    }),
  );
  return keepEnd(lines.join("\n"), maxLength);
}

const MARKS: Readonly<Record<ToolCallStatus, string>> = {
  [ToolCallStatus.STATUS_UNSPECIFIED]: "·",
  [ToolCallStatus.PENDING]: "·",
  [ToolCallStatus.EXECUTING]: "▸",
  [ToolCallStatus.SUCCEEDED]: "✓",
  [ToolCallStatus.FAILED]: "✗",
  [ToolCallStatus.CANCELLED]: "✗",
};

/** The messages of an agent since the last prompt. */
function workOf({ history }: Task): readonly Message[] {
  const prompt = history.findLastIndex(
    ({ role, parts }) =>
      role === Role.USER &&
      parts.some(({ content }) => content.case !== "confirmation"),
  );
  return history.slice(prompt + 1).filter(({ role }) => role === Role.AGENT);
}

/**
 * Returns the result of a call whose task rests: the agent's last words and its
 * artifacts, and the id with which another call goes on.
 *
 * @param maxLength the maximum length in characters; the beginning is kept
 */
export function resultOf(
  agent: string,
  task: Task,
  maxLength: number,
): ToolEvent {
  const { id, state, error, stateText } = task;
  const end = `\n\n[agent ${agent}, task_id ${JSON.stringify(id)}: ${STATES[state] ?? "it waits"}]`;
  if (isTerminal(state) && state !== TaskState.COMPLETED) {
    const why = error || stateText || "it gives no reason";
    return failureResult("execution_failed", keepStart(why, maxLength) + end);
  }
  const said = workOf(task)
    .map(({ parts }) => textOf(parts))
    .filter((text) => text.trim() !== "");
  const artifacts = task.artifacts.map(artifactText);
  const answer = [said.at(-1) ?? stateText, ...artifacts].join("\n\n");
  return textResult(keepStart(answer, maxLength) + end);
}

const STATES: Readonly<Partial<Record<TaskState, string>>> = {
  [TaskState.COMPLETED]: "completed",
  [TaskState.FAILED]: "failed",
  [TaskState.CANCELED]: "canceled",
  [TaskState.REJECTED]: "rejected",
};

function artifactText({ name, artifactId, parts }: Artifact): string {
  const texts = parts.map(({ content }) => {
    switch (content.case) {
      case "text":
        return content.value;
      case "data":
      case "dataValue":
        return dataText(content);
      case "file": {
        const { name: file, source, mediaType } = content.value;
        const place = source.case === "uri" ? source.value : "inline";
        return `[file ${JSON.stringify(file)} ${mediaType}: ${place}]`;
      }
      default:
        return "";
    }
  });
  return `Artifact ${JSON.stringify(name || artifactId)}:\n${texts.join("\n")}`;
}
