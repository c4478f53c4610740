import type { JsonValue } from "@bufbuild/protobuf";
import { timestampMs } from "@bufbuild/protobuf/wkt";
import { isObject, listOrEmpty } from "@devtool/internal/json";
import {
  Role,
  type Task,
  type ToolCall,
  ToolCallStatus,
  toolCallsOf,
  type Usage,
} from "@devtool/schema";
import type { Conversations } from "../services.ts";
import type { SlashCommand } from "../slash-command.ts";
import { noConversation, replyWith } from "../steps.ts";

/**
 * Creates `/compress`, `/plan`, `/stats` and `/cost`, which are about the conversation
 * in which they are sent.
 */
export function conversationCommands(
  conversations: Conversations,
): SlashCommand[] {
  const compress: SlashCommand = {
    path: ["compress"],
    description:
      "Replaces the older part of this conversation by a summary, so that the model has room",
    arguments: [],
    play: (_args, context) =>
      replyWith(async (request, signal) => {
        const task = await conversations.find(context);
        if (!task) return noConversation(context);
        const count = await conversations.compress(task.id, request, signal);
        return count === 0
          ? "There is nothing to gain: the conversation is short."
          : `A summary stands for ${count} ${count === 1 ? "message" : "messages"} now; the log keeps them.`;
      }),
  };
  return [
    compress,
    reportCommand(
      "plan",
      "Shows the agent's plan and its progress",
      conversations,
      formatPlan,
    ),
    reportCommand(
      "stats",
      "Shows the time, tokens, cost and tool calls of this conversation",
      conversations,
      formatStats,
    ),
    reportCommand(
      "cost",
      "Shows the tokens of this conversation, and what they cost",
      conversations,
      formatCost,
    ),
  ];
}

/** What each model used. */
type Spending = Awaited<ReturnType<Conversations["spending"]>>;

/** Creates a command that replies with a report about the task. */
function reportCommand(
  word: string,
  description: string,
  conversations: Conversations,
  report: (task: Task, spending: Spending) => string,
): SlashCommand {
  return {
    path: [word],
    description,
    arguments: [],
    play: (_args, context) =>
      replyWith(async () => {
        const task = await conversations.find(context);
        if (!task) return noConversation(context);
        return report(task, await conversations.spending(task.id));
      }),
  };
}

const STEP_MARKS: ReadonlyMap<JsonValue | undefined, string> = new Map([
  ["completed", "[x]"],
  ["in_progress", "[>]"],
]);

/**
 * Formats the steps that the agent's last successful `update_plan` call has.
 */
function formatPlan(task: Task): string {
  const update = task.history
    .flatMap(toolCallsOf)
    .findLast(
      ({ toolName, status }) =>
        toolName === "update_plan" && status === ToolCallStatus.SUCCEEDED,
    );
  const lines = listOrEmpty(update?.inputParameters?.plan).flatMap((entry) => {
    if (!isObject(entry) || typeof entry.step !== "string") return [];
    return [`${STEP_MARKS.get(entry.status) ?? "[ ]"} ${entry.step}`];
  });
  return lines.length > 0
    ? lines.join("\n")
    : "The agent has no plan in this conversation.";
}

function formatStats(task: Task, spending: Spending): string {
  const { usage, createTime, updateTime } = task;
  // From the first to the last event, which includes waiting for the user.
  const seconds =
    createTime && updateTime
      ? Math.round((timestampMs(updateTime) - timestampMs(createTime)) / 1000)
      : 0;
  const duration =
    seconds < 60
      ? `${seconds} s`
      : `${Math.floor(seconds / 60)} min ${seconds % 60} s`;
  const calls = task.history.flatMap(toolCallsOf);
  const prompts = task.history.filter(({ role }) => role === Role.USER).length;
  const byTool = [...Map.groupBy(calls, ({ toolName }) => toolName)];
  return [
    `task: ${task.id}`,
    `model: ${task.model === "" ? "none" : task.model}`,
    `time: ${duration}, ${prompts} of your messages, ${task.history.length - prompts} steps`,
    formatTokens(usage),
    ...(spending.some(({ cost }) => cost !== undefined)
      ? [`cost: ${costOf(spending)}`]
      : []),
    `tool calls: ${calls.length}${calls.length > 0 ? ` (${countOutcomes(calls)})` : ""}`,
    ...byTool
      .sort(([, one], [, other]) => other.length - one.length)
      .map(
        ([name, group]) =>
          `  ${name}: ${group.length} (${countOutcomes(group)})`,
      ),
  ].join("\n");
}

function formatTokens(usage: Usage | undefined): string {
  return usage
    ? `tokens: ${usage.inputTokens} in (${usage.cachedTokens} cached), ${usage.outputTokens} out (${usage.thoughtTokens} thoughts)`
    : "tokens: not counted";
}

/** Formats what a task cost: in all, and for each model. */
function formatCost({ usage }: Task, spending: Spending): string {
  const unpriced = spending.filter(({ cost }) => cost === undefined);
  return [
    formatTokens(usage),
    `cost: ${costOf(spending)}`,
    ...spending.map(
      ({ model, tokens, cost }) =>
        `  ${nameOf(model)}: ${tokens} tokens, ${cost === undefined ? "no price" : cost.toFixed(4)}`,
    ),
    ...(unpriced.length > 0
      ? [
          "The operator gives a model its price with budget.prices in config.toml.",
        ]
      : []),
  ].join("\n");
}

/** Returns the sum of what the models with a price cost, and names the others. */
function costOf(spending: Spending): string {
  const unpriced = spending.filter(({ cost }) => cost === undefined);
  if (spending.length > 0 && unpriced.length === spending.length) {
    return "unknown";
  }
  const sum = spending.reduce((all, { cost = 0 }) => all + cost, 0);
  const names = unpriced.map(({ model }) => nameOf(model)).join(", ");
  return `${sum.toFixed(4)}${names === "" ? "" : `, without ${names}`}`;
}

function nameOf(model: string): string {
  return model === "" ? "a model without a name" : model;
}

const OUTCOMES: ReadonlyMap<ToolCallStatus, string> = new Map([
  [ToolCallStatus.SUCCEEDED, "succeeded"],
  [ToolCallStatus.FAILED, "failed"],
  [ToolCallStatus.CANCELLED, "declined or canceled"],
]);

function countOutcomes(calls: readonly ToolCall[]): string {
  const byOutcome = Map.groupBy(
    calls,
    ({ status }) => OUTCOMES.get(status) ?? "open",
  );
  return [...byOutcome]
    .map(([outcome, group]) => `${group.length} ${outcome}`)
    .join(", ");
}
