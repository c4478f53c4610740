import { durationMs } from "@bufbuild/protobuf/wkt";
import { callerOfTask } from "@devtool/internal/task-caller";
import type {
  Budget,
  BudgetConfig,
  ModelPrice,
  Task,
  Usage,
} from "@devtool/schema";
import type { AgentConversations } from "../agent/agent.ts";
import type { CallUpdate } from "../agent/call-update.ts";
import { Code, DevtoolError, invalid, quoted } from "../errors.ts";
import type { TaskStore } from "../store/task-store.ts";
import { hasActiveGoal } from "./goal-progress.ts";
import {
  dayOf,
  NOTHING,
  Spending,
  type Spent,
  spentOn,
  sum,
} from "./spending.ts";
import type { WorkTime } from "./work-time.ts";

/** The reason of the signal that ends a turn which has reached a limit. */
export class BudgetReached extends DevtoolError {
  /** Whether the limit is that of the task's goal. */
  readonly isOfGoal: boolean;

  constructor(sentence: string, isOfGoal: boolean = false) {
    super(sentence, Code.ResourceExhausted);
    this.isOfGoal = isOfGoal;
  }
}

/** A limit, what counted against it before the turn, and how to go on. */
interface Scope {
  readonly limit: Budget;
  readonly before: Spent;
  /** Which work of other agents counts, too. Default: it counts for itself. */
  readonly below?: keyof Below;
  /** What it is that has used something, as a sentence begins with it. */
  readonly subject: string;
  readonly remedy: string;
}

/** What other agents have used that work for a task. */
type Below = Awaited<ReturnType<Spending["below"]>>;

const TURN = {
  below: "turn",
  subject: "This turn",
  remedy: "Send a message to go on.",
} as const;
const GOAL = {
  below: "goal",
  subject: "This goal",
  remedy: "Send another goal to go on.",
} as const;
const TASK = {
  below: "all",
  subject: "This task",
  remedy: "Start another task.",
} as const;
const DAY = {
  subject: "Today, your tasks",
  remedy: "Send a message after midnight UTC.",
};

/** The budgets of a server. */
export class Budgets {
  readonly #config: BudgetConfig;
  readonly #now: () => Date;
  readonly #spending: Spending;

  constructor(config: BudgetConfig, store: TaskStore, now: () => Date) {
    assertBudgets("budget", config);
    for (const limits of config.callers) {
      if (limits.principals.length + limits.roles.length === 0) {
        const problem = "has an entry without principals and roles";
        throw invalid("budget.callers", "", problem, "name some, or use turn");
      }
      assertBudgets("budget.callers", limits);
    }
    this.#config = config;
    this.#now = now;
    this.#spending = new Spending(store, (model) => this.priceOf(model));
  }

  /** Returns the price of a model; undefined for one without. */
  priceOf(model: string): ModelPrice | undefined {
    return this.#config.prices.find(({ model: named }) =>
      named.endsWith("*")
        ? model.startsWith(named.slice(0, -1))
        : model === named,
    );
  }

  /** Returns what tokens of a model cost; undefined for one without a price. */
  costOf(usage: Usage, model: string): number | undefined {
    const price = this.priceOf(model);
    return price && spentOn(usage, price).cost;
  }

  /**
   * Returns what each model used for some tasks, as
   * `AgentConversations.spending` describes it.
   */
  async spending(
    taskIds: AsyncIterable<string>,
    signal: AbortSignal,
  ): ReturnType<AgentConversations["spending"]> {
    const models = await this.#spending.byModel(taskIds, signal);
    return [...models].map(([model, { tokens, cost }]) => ({
      model,
      tokens,
      cost: this.priceOf(model) && cost,
    }));
  }

  /**
   * Counts what a turn may use; undefined where nothing limits it. A turn that
   * goes on after a restart has what it used before.
   */
  async begin(
    task: Task,
    model: string,
    turn: {
      readonly isNew: boolean;
      readonly wanted: Budget | undefined;
      /** Whether the turn may only say something, which no limit ends. */
      readonly isFree: boolean;
    },
  ): Promise<TurnBudget | undefined> {
    const all = [this.#config, ...callersLimits(this.#config, task)];
    const turns = [...all.map((limits) => limits.turn), turn.wanted];
    const ofTurn = turns.filter((limit) => limit !== undefined);
    const ofGoal = [hasActiveGoal(task) ? task.goal?.budget : undefined].filter(
      (limit) => limit !== undefined,
    );
    const ofTask = all.flatMap((limits) => limits.task ?? []);
    const ofDay = all.flatMap((limits) => limits.day ?? []);
    const scopes: Scope[] = [];
    if (ofTurn.length + ofGoal.length + ofTask.length > 0) {
      const used = await this.#spending.of(task.id);
      const before = turn.isNew ? NOTHING : used.turn;
      scopes.push(
        ...ofTurn.map((limit) => ({ ...TURN, limit, before })),
        ...ofGoal.map((limit) => ({ ...GOAL, limit, before: used.goal })),
        ...ofTask.map((limit) => ({ ...TASK, limit, before: used.all })),
      );
    }
    if (ofDay.length > 0) {
      const today = dayOf(this.#now().getTime());
      const before = await this.#spending.onDay(task.principal, today);
      scopes.push(...ofDay.map((limit) => ({ ...DAY, limit, before })));
    }
    if (scopes.length === 0) return undefined;
    const readBelow = (): Promise<Below> => this.#spending.below(task.id);
    const below = await readBelow();
    return new TurnBudget(
      scopes,
      {
        model,
        price: this.priceOf(model),
        readBelow,
        isFree: turn.isFree,
      },
      turn.isNew ? { ...below, turn: NOTHING } : below,
    );
  }

  /**
   * Throws `Code.FailedPrecondition` for a task with which its caller would
   * delete what counts against a limit of today.
   */
  async assertDeletable(task: Task): Promise<void> {
    const { principal } = callerOfTask(task);
    const further = this.#config.callers.filter(
      ({ principals, roles }) =>
        // The caller may have other roles by now.
        principals.includes(principal) || roles.length > 0,
    );
    if ([this.#config, ...further].every(({ day }) => !day)) return;
    const today = dayOf(this.#now().getTime());
    const { tokens, workMs } = (await this.#spending.of(task.id)).onDay(today);
    if (tokens + workMs === 0) return;
    throw new DevtoolError(
      `task ${quoted(task.id)} counts for the budget of today`,
      Code.FailedPrecondition,
      { remedy: "delete it after midnight UTC, or ask the operator to" },
    );
  }
}

/** Returns the further limits that name the caller of a task. */
function callersLimits(
  { callers }: BudgetConfig,
  task: Task,
): BudgetConfig["callers"] {
  const own = callerOfTask(task);
  return callers.filter(
    ({ principals, roles }) =>
      principals.includes(own.principal) ||
      roles.some((role) => own.roles.includes(role)),
  );
}

interface TurnBudgetOptions {
  readonly model: string;
  readonly price: ModelPrice | undefined;
  /** Reads what other agents have used by now. */
  readonly readBelow: () => Promise<Below>;
  /** Whether no limit counts before `TurnBudget.use`. */
  readonly isFree: boolean;
}

/** What a turn has used, and may use. */
export class TurnBudget {
  readonly #scopes: readonly Scope[];
  readonly #options: TurnBudgetOptions;
  #below: Below;
  #spent: Spent = NOTHING;
  /**
   * The states of calls for which the work below was counted, and when, on the
   * monotonic clock.
   */
  readonly #counted = new Set<string>();
  #countedMs = Number.NEGATIVE_INFINITY;
  #isFree: boolean;

  constructor(
    scopes: readonly Scope[],
    options: TurnBudgetOptions,
    below: Below,
  ) {
    this.#scopes = scopes;
    this.#options = options;
    this.#below = below;
    this.#isFree = options.isFree;
  }

  /** Has the limits count from now on, if the turn was free. */
  use(): void {
    this.#isFree = false;
  }

  /** Counts a step of the model. */
  add(usage: Usage): void {
    this.#spent = sum(this.#spent, spentOn(usage, this.#options.price));
  }

  /**
   * Counts what other agents have used by now that work for the task: when a
   * call of theirs begins, has its task or ends, and otherwise at most once a
   * second, since it reads the log of each of their tasks.
   */
  async addBelow(calls: readonly CallUpdate[]): Promise<void> {
    const states = calls.map(({ call, detail }) =>
      [call.toolCallId, call.status, detail?.delegation?.taskId].join(" "),
    );
    const isNews = states.some((state) => !this.#counted.has(state));
    const nowMs = performance.now();
    if (!isNews && nowMs - this.#countedMs < CLOCK_MS) return;
    for (const state of states) this.#counted.add(state);
    this.#countedMs = nowMs;
    this.#below = await this.#options.readBelow();
  }

  /**
   * Calls `onReached`, and throws its reason, when the agent must not do
   * anything more.
   */
  assertWithin(onReached: (reason: BudgetReached) => void): void {
    const reason = this.#problem();
    if (!reason) return;
    onReached(reason);
    throw reason;
  }

  #problem(): BudgetReached | undefined {
    if (this.#isFree) return undefined;
    const hasCost = this.#scopes.some(({ limit }) => limit.cost !== undefined);
    const { model, price } = this.#options;
    if (hasCost && !price) {
      return new BudgetReached(
        `The cost is limited, and model ${quoted(model)} has no price. Add it to budget.prices in config.toml.`,
      );
    }
    for (const { limit, before, below, subject, remedy } of this.#scopes) {
      const own = sum(before, this.#spent);
      const used = below ? sum(own, this.#below[below]) : own;
      const reached = reachedLimit(limit, used);
      if (!reached) continue;
      const isOfGoal = subject === GOAL.subject;
      return new BudgetReached(
        `${subject} used ${reached}. ${remedy}`,
        isOfGoal,
      );
    }
    return undefined;
  }

  /**
   * Counts the time that the task works, until the result is disposed of. Calls
   * `onReached` when a limit is reached.
   */
  watch(
    work: Pick<WorkTime, "ms">,
    onReached: (reason: BudgetReached) => void,
  ): Disposable {
    const limitsMs = this.#scopes.flatMap(({ limit, before }) =>
      limit.time ? [durationMs(limit.time) - before.workMs] : [],
    );
    if (limitsMs.length === 0) return { [Symbol.dispose]: () => undefined };
    const beginMs = work.ms;
    let timer: NodeJS.Timeout | undefined;
    const look = (): void => {
      const workMs = work.ms - beginMs;
      this.#spent = { ...this.#spent, workMs };
      const reason = this.#problem();
      if (reason) {
        onReached(reason);
        return;
      }
      const leftMs = Math.min(...limitsMs) - workMs;
      // A question stops the time, so it is looked at each second.
      const waitMs = leftMs > 0 ? Math.min(leftMs, CLOCK_MS) : CLOCK_MS;
      timer = setTimeout(look, waitMs);
    };
    timer = setTimeout(look, 0);
    return { [Symbol.dispose]: () => clearTimeout(timer) };
  }
}

/** How often the time is counted, in milliseconds. */
const CLOCK_MS = 1000;

function assertBudgets(
  field: string,
  { turn, task, day }: Pick<BudgetConfig, "turn" | "task" | "day">,
): void {
  for (const [name, budget] of Object.entries({ turn, task, day })) {
    assertBudget(`${field}.${name}`, budget);
  }
}

/** Throws `Code.InvalidArgument` for a limit that is not above 0. */
export function assertBudget(field: string, budget: Budget | undefined): void {
  const { tokens, time, cost } = budget ?? {};
  const limits = {
    tokens: tokens === undefined ? undefined : Number(tokens),
    time: time && durationMs(time),
    cost,
  };
  for (const [name, limit] of Object.entries(limits)) {
    if (limit === undefined || (limit > 0 && Number.isFinite(limit))) continue;
    const problem = "is not a limit: it must be above 0";
    throw invalid(`${field}.${name}`, String(limit), problem, "leave it out");
  }
}

/** Says which limit is reached; undefined for none. */
function reachedLimit(limit: Budget, used: Spent): string | undefined {
  const { tokens, time, cost } = limit;
  if (tokens !== undefined && used.tokens >= Number(tokens)) {
    return `${used.tokens} tokens, and the limit is ${tokens}`;
  }
  if (cost !== undefined && used.cost >= cost) {
    return `${used.cost.toFixed(2)} of cost, and the limit is ${cost}`;
  }
  if (time !== undefined && used.workMs >= durationMs(time)) {
    const seconds = Math.round(used.workMs / 1000);
    return `${seconds} s of work, and the limit is ${durationMs(time) / 1000} s`;
  }
  return undefined;
}
