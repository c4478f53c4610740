import { timestampMs } from "@bufbuild/protobuf/wkt";
import { CALL_CHAIN_URI } from "@devtool/internal/call-chain-uri";
import { callerOfTask } from "@devtool/internal/task-caller";
import {
  confirmationsOf,
  type ModelPrice,
  type TaskEvent,
  type Usage,
} from "@devtool/schema";
import type { TaskStore } from "../store/task-store.ts";
import { isWork } from "./work-time.ts";

/** What turns have used. */
export interface Spent {
  /** Tokens of input and output. */
  readonly tokens: number;
  /** Working time in milliseconds. */
  readonly workMs: number;
  /** Cost, in the currency of the prices. */
  readonly cost: number;
}

export const NOTHING: Spent = { tokens: 0, workMs: 0, cost: 0 };

/** Finds the price of a model; undefined for one without. */
export type PriceOf = (model: string) => ModelPrice | undefined;

/**
 * The maximum time in milliseconds that counts as work between two events of a
 * log: the server may have been down, or its clock been set.
 */
const MAX_GAP_MS = 10 * 60_000;

/** The maximum number of tasks whose spending is kept. */
const MAX_KEPT = 10_000;

/** Adds what was used. */
export function sum(one: Spent, other: Spent): Spent {
  return {
    tokens: one.tokens + other.tokens,
    workMs: one.workMs + other.workMs,
    cost: one.cost + other.cost,
  };
}

/** Returns what a step of a model used. */
export function spentOn(usage: Usage, price: ModelPrice | undefined): Spent {
  const cached = Number(usage.cachedTokens);
  const fresh = Math.max(0, Number(usage.inputTokens) - cached);
  const output = Number(usage.outputTokens);
  const { input = 0, cachedInput = input, output: each = 0 } = price ?? {};
  const millionths = fresh * input + cached * cachedInput + output * each;
  const tokens = fresh + cached + output;
  return { tokens, workMs: 0, cost: millionths / 1e6 };
}

/** Returns the day of a time, as `2026-11-29` in UTC. */
export function dayOf(ms: number): string {
  return new Date(ms).toISOString().slice(0, 10);
}

/** What the log of one task says was used. */
class TaskSpending {
  /** The sequence of the last event. */
  sequence = 0n;
  /** The principal, without the tenant that it named. */
  caller = "";
  /** Since the last message that began a turn. */
  turn: Spent = NOTHING;
  /** Since the last message with a goal. */
  goal: Spent = NOTHING;
  /** In all turns. */
  all: Spent = NOTHING;
  /** Of each model, by its name. */
  readonly models: Map<string, Spent> = new Map();
  /** When the last turn began, and the last goal, in milliseconds. */
  turnSinceMs: number = 0;
  goalSinceMs: number = 0;
  /** The ids of the tasks in which other agents do the work of its calls. */
  readonly called: Set<string> = new Set();
  /** Whether another agent's call has made the task. */
  isCalled: boolean = false;
  /** What had been used before each turn. */
  readonly #turns: { readonly sinceMs: number; readonly before: Spent }[] = [];
  /** The ids of queued messages that have a goal. */
  readonly #queuedGoals = new Set<string>();
  readonly #onDays = new Map<string, Spent>();
  readonly #priceOf: PriceOf;
  #worksSinceMs: number | undefined;

  constructor(priceOf: PriceOf) {
    this.#priceOf = priceOf;
  }

  onDay(day: string): Spent {
    return this.#onDays.get(day) ?? NOTHING;
  }

  /** Returns what the turns used that began since a time. */
  since(ms: number): Spent {
    const first = this.#turns.find(({ sinceMs }) => sinceMs >= ms);
    if (!first) return NOTHING;
    const { tokens, workMs, cost } = first.before;
    return sum(this.all, { tokens: -tokens, workMs: -workMs, cost: -cost });
  }

  add(event: TaskEvent): void {
    const { payload, sequence, model, state, toolCallDetail } = event;
    const timeMs = event.time ? timestampMs(event.time) : 0;
    const workMs = Math.max(0, timeMs - (this.#worksSinceMs ?? timeMs));
    let spent: Spent = { ...NOTHING, workMs: Math.min(workMs, MAX_GAP_MS) };
    if (payload.case === "usage") {
      const step = spentOn(payload.value, this.#priceOf(model));
      this.models.set(model, sum(this.models.get(model) ?? NOTHING, step));
      spent = sum(spent, step);
    }
    if (payload.case === "created") {
      const { message } = payload.value;
      this.caller = callerIn(payload.value);
      this.isCalled = message?.metadata?.[CALL_CHAIN_URI] !== undefined;
    }
    const { agent = "", taskId = "" } = toolCallDetail?.delegation ?? {};
    if (agent !== "" && taskId !== "") this.called.add(taskId);
    const day = dayOf(timeMs);
    this.#onDays.set(day, sum(this.onDay(day), spent));
    this.all = sum(this.all, spent);
    this.turn = sum(this.turn, spent);
    this.goal = sum(this.goal, spent);
    if (beginsTurn(payload)) {
      this.turn = NOTHING;
      this.turnSinceMs = timeMs;
      this.#turns.push({ sinceMs: timeMs, before: this.all });
    }
    if (this.#beginsGoal(payload)) {
      this.goal = NOTHING;
      this.goalSinceMs = timeMs;
    }
    this.sequence = sequence;
    this.#worksSinceMs = isWork(state) ? timeMs : undefined;
  }

  #beginsGoal({ case: kind, value }: TaskEvent["payload"]): boolean {
    switch (kind) {
      case "created":
        return value.message?.goal !== undefined;
      case "message":
        return value.goal !== undefined;
      case "messageQueued": {
        const { goal, messageId = "" } = value.message ?? {};
        if (goal) this.#queuedGoals.add(messageId);
        return false;
      }
      case "messageTaken":
        return this.#queuedGoals.delete(value.messageId);
      default:
        return false;
    }
  }
}

function callerIn(task: { readonly principal: string }): string {
  return callerOfTask(task).principal;
}

function beginsTurn(payload: TaskEvent["payload"]): boolean {
  if (payload.case === "message") {
    return confirmationsOf(payload.value).length === 0;
  }
  return payload.case === "created" || payload.case === "messageTaken";
}

/** Reads from the logs of a store what was used. */
export class Spending {
  readonly #store: TaskStore;
  readonly #priceOf: PriceOf;
  /** What is known of tasks, the least recently used first. */
  readonly #tasks = new Map<string, TaskSpending>();

  constructor(store: TaskStore, priceOf: PriceOf) {
    this.#store = store;
    this.#priceOf = priceOf;
  }

  /** Returns what a task has used, according to its durable events. */
  async of(taskId: string): Promise<Omit<TaskSpending, "add">> {
    const known = this.#tasks.get(taskId) ?? new TaskSpending(this.#priceOf);
    this.#tasks.delete(taskId);
    this.#tasks.set(taskId, known);
    for (const oldest of this.#tasks.keys()) {
      if (this.#tasks.size <= MAX_KEPT) break;
      this.#tasks.delete(oldest);
    }
    for await (const event of this.#store.readEvents(taskId, known.sequence)) {
      // Two turns may read at the same time.
      if (event.sequence > known.sequence) known.add(event);
    }
    return known;
  }

  /**
   * Returns the tokens and the cost of what other agents of this store did for
   * a task, over any number of agents. Their time is that of the task itself.
   */
  async below(
    taskId: string,
  ): Promise<Pick<TaskSpending, "turn" | "goal" | "all">> {
    const task = await this.of(taskId);
    const below = await this.#tasksBelow(task, new Set([taskId]));
    const since = (ms: number): Spent => {
      const { tokens, cost } = below
        .map((child) => child.since(ms))
        .reduce(sum, NOTHING);
      return { tokens, cost, workMs: 0 };
    };
    return {
      turn: since(task.turnSinceMs),
      goal: since(task.goalSinceMs),
      all: since(0),
    };
  }

  /**
   * Returns what each model used for some tasks, by the model's name: in the
   * tasks, and in what other agents of this store did for them.
   */
  async byModel(
    taskIds: AsyncIterable<string>,
    signal: AbortSignal,
  ): Promise<ReadonlyMap<string, Spent>> {
    const models = new Map<string, Spent>();
    const ids = await Array.fromAsync(taskIds);
    const seen = new Set(ids);
    for (const id of ids) {
      signal.throwIfAborted();
      const task = await this.of(id);
      for (const each of [task, ...(await this.#tasksBelow(task, seen))]) {
        for (const [model, spent] of each.models) {
          models.set(model, sum(models.get(model) ?? NOTHING, spent));
        }
      }
    }
    return models;
  }

  /**
   * Returns the tasks of this store that a task has caused, each one once, and
   * none that was seen before.
   */
  async #tasksBelow(
    { called, caller }: Pick<TaskSpending, "called" | "caller">,
    seen: Set<string>,
  ): Promise<readonly Pick<TaskSpending, "since" | "models">[]> {
    const below: Pick<TaskSpending, "since" | "models">[] = [];
    const next = [...called];
    for (let id = next.pop(); id !== undefined; id = next.pop()) {
      if (seen.has(id)) continue;
      seen.add(id);
      const child = await this.of(id);
      // An agent elsewhere may name any task as its own.
      if (!child.isCalled || child.caller !== caller) continue;
      below.push(child);
      next.push(...child.called);
    }
    return below;
  }

  /**
   * Returns what all tasks of a principal have used on a day, in all tenants: a
   * caller chooses its tenants.
   */
  async onDay(principal: string, day: string): Promise<Spent> {
    const caller = callerIn({ principal });
    let spent = NOTHING;
    let cursor: string | undefined;
    do {
      const page = await this.#store.list({ limit: 100, cursor });
      for (const { last } of page.tasks) {
        // The latest change is first.
        if (dayOf(last.time ? timestampMs(last.time) : 0) < day) return spent;
        const known = this.#tasks.get(last.taskId);
        const isRead = known?.sequence === last.sequence;
        const task = isRead ? known : await this.of(last.taskId);
        if (task.caller === caller) spent = sum(spent, task.onDay(day));
      }
      cursor = page.cursor;
    } while (cursor !== undefined);
    return spent;
  }
}
