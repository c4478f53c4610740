import { timestampMs } from "@bufbuild/protobuf/wkt";
import { Role, type Task, type ToolCall, ToolCallStatus, toolCallsOf, type Usage } from "@devtool/schema";
import type { Conversations } from "../services.ts";
import type { SlashCommand } from "../slash-command.ts";
import { noConversation, saying } from "../steps.ts";

/** `/stats`: what the conversation took so far. */
export function statsCommand(conversations: Conversations): SlashCommand {
  return {
    path: ["stats"],
    description: "Shows the time, tokens and tool calls of this conversation",
    arguments: [],
    play: (_args, context) =>
      saying(async () => {
        const task = await conversations.find(context);
        return task ? statsText(task) : noConversation(context);
      }),
  };
}

function statsText(task: Task): string {
  const calls = task.history.flatMap(toolCallsOf);
  const prompts = task.history.filter(({ role }) => role === Role.USER).length;
  return [
    `task: ${task.id}`,
    `model: ${task.model === "" ? "none" : task.model}`,
    `time: ${durationText(task)}, ${prompts} of your messages, ${task.history.length - prompts} steps`,
    `tokens: ${usageText(task.usage)}`,
    `tool calls: ${calls.length}${calls.length > 0 ? ` (${outcomesText(calls)})` : ""}`,
    ...toolLines(calls),
  ].join("\n");
}

/** From the first event to the last; waiting for the user is part of it. */
function durationText({ createTime, updateTime }: Task): string {
  const ms = createTime && updateTime ? timestampMs(updateTime) - timestampMs(createTime) : 0;
  const seconds = Math.round(ms / 1000);
  return seconds < 60 ? `${seconds} s` : `${Math.floor(seconds / 60)} min ${seconds % 60} s`;
}

function usageText(usage: Usage | undefined): string {
  if (!usage) return "not counted";
  const { inputTokens, cachedTokens, outputTokens, thoughtTokens } = usage;
  return `${inputTokens} in (${cachedTokens} cached), ${outputTokens} out (${thoughtTokens} thoughts)`;
}

function outcomesText(calls: readonly ToolCall[]): string {
  const byOutcome = Map.groupBy(calls, ({ status }) => OUTCOMES.get(status) ?? "open");
  return [...byOutcome].map(([outcome, group]) => `${group.length} ${outcome}`).join(", ");
}

function toolLines(calls: readonly ToolCall[]): string[] {
  const byTool = [...Map.groupBy(calls, ({ toolName }) => toolName)];
  return byTool
    .sort(([, one], [, other]) => other.length - one.length)
    .map(([name, group]) => `  ${name}: ${group.length} (${outcomesText(group)})`);
}

const OUTCOMES: ReadonlyMap<ToolCallStatus, string> = new Map([
  [ToolCallStatus.SUCCEEDED, "succeeded"],
  [ToolCallStatus.FAILED, "failed"],
  [ToolCallStatus.CANCELLED, "declined or canceled"],
]);
