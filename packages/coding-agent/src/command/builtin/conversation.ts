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
  const plan: SlashCommand = {
    path: ["plan"],
    description: "Shows the agent's plan and its progress",
    arguments: [],
    play: (_args, context) =>
      replyWith(async (_request, signal) => {
        let isEmpty = true;
        for await (const task of conversations.tasks(context, "all", signal)) {
          if (task.command) continue;
          isEmpty = false;
          const found = planOf(task);
          if (found) return formatPlan(found);
        }
        return isEmpty ? noConversation(context) : NO_PLAN;
      }),
  };
  return [
    compress,
    plan,
    reportCommand(
      "stats",
      "Shows the time, tokens, cost and tool calls of this conversation",
      conversations,
      { content: "all", format: formatStats },
    ),
    reportCommand(
      "cost",
      "Shows the tokens of this conversation, and what they cost",
      conversations,
      { content: "recent", format: formatCost },
    ),
  ];
}

/** What each model used. */
type Spending = Awaited<ReturnType<Conversations["spending"]>>;

/** What a conversation has come to, over all of its tasks. */
interface Report {
  /** The task that a message opened and that changed last. */
  readonly latest: Task;
  /** The number of tasks that messages opened. */
  readonly tasks: number;
  readonly milliseconds: number;
  readonly prompts: number;
  readonly steps: number;
  readonly calls: readonly Pick<ToolCall, "toolName" | "status">[];
  /** The tokens of all tasks. Undefined when none were counted. */
  readonly usage: Usage | undefined;
  readonly spending: Spending;
}

/** Creates a command that replies with a report about the conversation. */
function reportCommand(
  word: string,
  description: string,
  conversations: Conversations,
  report: {
    readonly content: "recent" | "all";
    readonly format: (report: Report) => string;
  },
): SlashCommand {
  return {
    path: [word],
    description,
    arguments: [],
    play: (_args, context) =>
      replyWith(async (_request, signal) => {
        const spending = await conversations.spending(context, signal);
        const tasks = conversations.tasks(context, report.content, signal);
        const read = await readReport(tasks, spending);
        return read ? report.format(read) : noConversation(context);
      }),
  };
}

/**
 * Folds the tasks of a conversation, the latest first. Undefined when no message
 * has opened one.
 */
async function readReport(
  tasks: AsyncIterable<Task>,
  spending: Spending,
): Promise<Report | undefined> {
  let report: Report | undefined;
  let commandUsage: Usage | undefined;
  for await (const task of tasks) {
    if (task.command) {
      commandUsage = sumUsage(commandUsage, task.usage);
    } else {
      report = addTask(report, task, spending);
    }
  }
  return report && { ...report, usage: sumUsage(report.usage, commandUsage) };
}

function addTask(
  before: Report | undefined,
  task: Task,
  spending: Spending,
): Report {
  const { history, createTime, updateTime } = task;
  const calls = history.flatMap(toolCallsOf);
  // From the first to the last event, which includes waiting for the user.
  const milliseconds =
    createTime && updateTime
      ? timestampMs(updateTime) - timestampMs(createTime)
      : 0;
  const prompts = history.filter(({ role }) => role === Role.USER).length;
  // Without what the calls hold: a conversation may have many tasks.
  const outcomes = calls.map(({ toolName, status }) => ({ toolName, status }));
  return {
    latest: before?.latest ?? task,
    tasks: (before?.tasks ?? 0) + 1,
    milliseconds: (before?.milliseconds ?? 0) + milliseconds,
    prompts: (before?.prompts ?? 0) + prompts,
    steps: (before?.steps ?? 0) + history.length - prompts,
    calls: [...(before?.calls ?? []), ...outcomes],
    usage: sumUsage(before?.usage, task.usage),
    spending,
  };
}

function sumUsage(
  one: Usage | undefined,
  other: Usage | undefined,
): Usage | undefined {
  if (!one || !other) return one ?? other;
  return {
    ...one,
    inputTokens: one.inputTokens + other.inputTokens,
    cachedTokens: one.cachedTokens + other.cachedTokens,
    outputTokens: one.outputTokens + other.outputTokens,
    thoughtTokens: one.thoughtTokens + other.thoughtTokens,
  };
}

const NO_PLAN = "The agent has no plan in this conversation.";

const STEP_MARKS: ReadonlyMap<JsonValue | undefined, string> = new Map([
  ["completed", "[x]"],
  ["in_progress", "[>]"],
]);

/** Returns the last successful call of `update_plan`; undefined for none. */
function planOf({ history }: Task): ToolCall | undefined {
  return history
    .flatMap(toolCallsOf)
    .findLast(
      ({ toolName, status }) =>
        toolName === "update_plan" && status === ToolCallStatus.SUCCEEDED,
    );
}

/** Formats the steps of the agent's last plan. */
function formatPlan({ inputParameters }: ToolCall): string {
  const lines = listOrEmpty(inputParameters?.plan).flatMap((entry) => {
    if (!isObject(entry) || typeof entry.step !== "string") return [];
    return [`${STEP_MARKS.get(entry.status) ?? "[ ]"} ${entry.step}`];
  });
  return lines.length > 0 ? lines.join("\n") : NO_PLAN;
}

function formatStats(report: Report): string {
  const { latest, tasks, calls, prompts, steps, usage, spending } = report;
  const seconds = Math.round(report.milliseconds / 1000);
  const duration =
    seconds < 60
      ? `${seconds} s`
      : `${Math.floor(seconds / 60)} min ${seconds % 60} s`;
  const byTool = [...Map.groupBy(calls, ({ toolName }) => toolName)];
  return [
    `task: ${latest.id}${tasks > 1 ? `, the latest of ${tasks}` : ""}`,
    `model: ${latest.model === "" ? "none" : latest.model}`,
    `time: ${duration}, ${prompts} of your messages, ${steps} steps`,
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

/** Formats what a conversation cost: in all, and for each model. */
function formatCost({ usage, spending }: Report): string {
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

function countOutcomes(calls: Report["calls"]): string {
  const byOutcome = Map.groupBy(
    calls,
    ({ status }) => OUTCOMES.get(status) ?? "open",
  );
  return [...byOutcome]
    .map(([outcome, group]) => `${group.length} ${outcome}`)
    .join(", ");
}
