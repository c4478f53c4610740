import { parseArgs } from "node:util";
import { create } from "@bufbuild/protobuf";
import { ConnectError, createClient } from "@connectrpc/connect";
import {
  type ExecuteSlashCommandRequest,
  type Goal,
  GoalSchema,
  GoalState,
  MessageDelivery,
  Role,
  SlashCommandSchema,
  type Task,
  TaskService,
} from "@devtool/schema";
import type { AgentCommands, AgentServices } from "../agent/agent.ts";
import type { AgentExecutor } from "../agent/agent-executor.ts";
import { Code, DevtoolError, invalid, quoted } from "../errors.ts";
import { goalWords } from "../task/goal-progress.ts";

/** How to set a goal. */
const USAGE =
  'write /goal OBJECTIVE --check "COMMAND" [--check "COMMAND"] [--max-turns N] [--max-cost N]';

/** Adds `/goal` to the commands of an agent, in place of one of its own. */
export function withGoalCommand(commands: AgentCommands): AgentCommands {
  return {
    list: async (place, signal) => {
      const others = await commands.list(place, signal);
      return [...others.filter(({ name }) => name !== "goal"), declared()];
    },
    check: async (request, context, signal) => {
      if (request.commandPath[0] !== "goal") {
        return commands.check(request, context, signal);
      }
      try {
        readGoalLine(request);
        return undefined;
      } catch (reason) {
        return DevtoolError.from(reason).message;
      }
    },
  };
}

type GoalServices = Pick<AgentServices, "agents" | "conversations">;

/**
 * Creates the executor of `/goal`: it acts on the latest task of its
 * conversation, with the rights of who sent it.
 */
export function goalExecutor(services: GoalServices): AgentExecutor {
  return {
    // What it sends has the same id again.
    continuesFromLog: "unasked",
    metersCommands: true,
    async *execute({ task }, signal) {
      const value = await play(task, services, signal).catch((reason) => {
        if (!(reason instanceof ConnectError)) throw reason;
        throw new DevtoolError(reason.rawMessage, reason.code);
      });
      yield { case: "text", value };
    },
  };
}

/** Does what an execution of `/goal` asks for, and returns what it says. */
async function play(
  own: Task,
  { agents, conversations }: GoalServices,
  signal: AbortSignal,
): Promise<string> {
  const line = readGoalLine(own.command);
  const tasks = createClient(TaskService, await agents.transportFor(own));
  const task = await conversations.find(own, "recent");
  if (line.case === "set") {
    const { objective, goal } = line;
    const messageId = `goal-${own.id}`;
    const parts = [{ content: { case: "text" as const, value: objective } }];
    const request = {
      ...(task ? { taskId: task.id } : { contextId: own.contextId }),
      message: { messageId, role: Role.USER, parts },
      messageSettings: { goal, delivery: MessageDelivery.STEER },
    };
    // The first event says that the message is kept; the rest is the task's.
    for await (const _first of tasks.streamMessage({ request }, { signal })) {
      break;
    }
    const checks = goal.checks.map(quoted).join(", ");
    return `The goal is set. Checks: ${checks}.`;
  }
  if (!task?.goal) {
    throw new DevtoolError(
      "this conversation has no goal",
      Code.FailedPrecondition,
      { remedy: USAGE },
    );
  }
  const { state } = line;
  if (state === undefined) return statusOf(task);
  const request = { taskId: task.id, state };
  const changed = await tasks.setGoalState(request, { signal });
  return statusOf(changed.task ?? task);
}

function statusOf({ goal, goalProgress }: Task): string {
  if (!goalProgress) return "";
  const isNew = goalProgress.checks.length === 0;
  return isNew && goalProgress.state === GoalState.ACTIVE
    ? "The agent works for the goal. No check has run yet."
    : goalWords(goalProgress, goal);
}

/** What an execution of `/goal` asks for. */
type GoalLine =
  | { readonly case: "set"; readonly objective: string; readonly goal: Goal }
  | {
      readonly case: "state";
      /** The state to set. Default: only says what it is. */
      readonly state?: GoalState.ACTIVE | GoalState.PAUSED;
    };

/** Throws `Code.InvalidArgument` for a line that is not one of `/goal`. */
function readGoalLine(
  line: Pick<ExecuteSlashCommandRequest, "commandPath" | "args"> | undefined,
): GoalLine {
  const { commandPath: [, word = "", ...more] = [], args = "" } = line ?? {};
  const text = [word, ...more, args].join(" ").trim();
  switch (text) {
    case "":
      return { case: "state" };
    case "pause":
      return { case: "state", state: GoalState.PAUSED };
    case "resume":
      return { case: "state", state: GoalState.ACTIVE };
  }
  const start = text.search(/(?<=^|\s)--(check|max-turns|max-cost)\b/);
  const objective = (start < 0 ? text : text.slice(0, start)).trim();
  if (start < 0 || objective === "") {
    const problem = start < 0 ? "names no check" : "names no objective";
    throw invalid("/goal", text, problem, USAGE);
  }
  return { case: "set", objective, goal: readGoal(text.slice(start)) };
}

/** Reads the options of a goal. */
function readGoal(options: string): Goal {
  const words = options.match(/(?:--[\w-]+=)?(?:"[^"]*"|'[^']*')|\S+/g) ?? [];
  const args = words.map((word) =>
    word.replace(/^(--[\w-]+=)?(["'])(.*)\2$/s, "$1$3"),
  );
  const { values } = parsed(args);
  const { check = [], "max-turns": turns, "max-cost": cost } = values;
  if (check.length === 0)
    throw invalid("/goal", options, "has no check", USAGE);
  return create(GoalSchema, {
    checks: check,
    maxTurns: numberOf("max-turns", turns, /^([1-9]\d{0,2}|1000)$/),
    ...(cost !== undefined && {
      budget: { cost: numberOf("max-cost", cost, /^\d+(\.\d+)?$/) },
    }),
  });
}

function parsed(args: string[]) {
  try {
    return parseArgs({ args, options: OPTIONS });
  } catch (reason) {
    const [problem = ""] =
      reason instanceof Error ? reason.message.split(". ") : [];
    throw invalid("/goal", args.join(" "), `cannot be read: ${problem}`, USAGE);
  }
}

const OPTIONS = {
  check: { type: "string", multiple: true },
  "max-turns": { type: "string" },
  "max-cost": { type: "string" },
} as const;

/** @param form of a number that is over 0 */
function numberOf(
  option: keyof typeof OPTIONS,
  text: string | undefined,
  form: RegExp,
): number {
  if (text === undefined) return 0;
  const value = form.test(text) ? Number(text) : 0;
  if (value > 0) return value;
  throw invalid(`--${option}`, text, "is not valid", USAGE);
}

/** `/goal` as clients list it (CMD-1). */
function declared() {
  return create(SlashCommandSchema, {
    name: "goal",
    description:
      "Has the agent work until commands pass, or shows how far it is",
    arguments: [
      {
        name: "goal",
        description: 'What to achieve, and --check "COMMAND" for each check',
      },
    ],
    subCommands: [
      { name: "pause", description: "Stops after the present turn" },
      { name: "resume", description: "Goes on with the goal" },
    ],
  });
}
