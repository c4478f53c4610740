import type { JsonValue } from "@bufbuild/protobuf";
import { type Task, ToolCallStatus, toolCallsOf } from "@devtool/schema";
import type { Conversations } from "../services.ts";
import type { SlashCommand } from "../slash-command.ts";
import { noConversation, saying } from "../steps.ts";

/** `/plan`: the steps that the agent set itself with `update_plan`. */
export function planCommand(conversations: Conversations): SlashCommand {
  return {
    path: ["plan"],
    description: "Shows the agent's plan and how far it is",
    arguments: [],
    play: (_args, context) =>
      saying(async () => {
        const task = await conversations.find(context);
        return task ? planText(task) : noConversation(context);
      }),
  };
}

function planText(task: Task): string {
  const calls = task.history.flatMap(toolCallsOf);
  const latest = calls.findLast(
    ({ toolName, status }) => toolName === "update_plan" && status === ToolCallStatus.SUCCEEDED,
  );
  const steps = linesOf(latest?.inputParameters?.plan);
  return steps.length > 0 ? steps.join("\n") : "The agent has no plan in this conversation.";
}

function linesOf(plan: JsonValue | undefined): string[] {
  if (!Array.isArray(plan)) return [];
  return plan.flatMap((entry) => {
    if (typeof entry !== "object" || entry === null || Array.isArray(entry)) return [];
    const { step, status } = entry;
    return typeof step === "string" ? [`${MARKS.get(String(status)) ?? "[ ]"} ${step}`] : [];
  });
}

const MARKS: ReadonlyMap<string, string> = new Map([
  ["completed", "[x]"],
  ["in_progress", "[>]"],
]);
