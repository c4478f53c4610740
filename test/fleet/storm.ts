import { readFile } from "node:fs/promises";
import { join } from "node:path";
import { setTimeout as delay } from "node:timers/promises";
import { Code, ConnectError } from "@connectrpc/connect";
import { streamMessage, textMessage } from "@devtool/client";
import {
  emptyTask,
  reduceTask,
  type TaskEvent,
  TaskState,
} from "@devtool/schema";
import { settle } from "../durability/crash/workload.ts";
import { FleetClient } from "./fleet-clients.ts";
import { checkFleet, FleetHistory, type FleetReport } from "./fleet-history.ts";
import type { ServerFleet } from "./server-fleet.ts";

/**
 * What happens to a server: it is killed, it is stopped and goes on later, or
 * it is asked to end.
 */
export type Blow = "SIGKILL" | "SIGSTOP" | "SIGTERM";

/** The time in milliseconds from one blow to the next. */
const PERIOD_MS = 5000;

/**
 * How long a server is stopped: longer than its lease, and than others take to
 * find its tasks.
 */
const STOPPED_MS = 7000;

/** The time in milliseconds after which tasks count as not taken over. */
const LONGEST_TAKEOVER_MS = 30_000;

const CLIENTS = 8;

/**
 * The states of tasks that another server must take over by itself. Those that
 * ask are taken over by their answers as well.
 */
const OPEN_STATES = [TaskState.SUBMITTED, TaskState.WORKING].join();

/** How a storm went. */
export interface StormReport {
  readonly report: FleetReport;
  /**
   * The times in milliseconds from a blow until each open task of its server
   * had another one.
   */
  readonly takeovers: Readonly<Record<Blow, number[]>>;
  readonly blows: number;
  /**
   * What failed for clients, for the blows and for the comparison, as texts.
   * None with servers that do what they promise.
   */
  readonly refusals: readonly string[];
}

/** What is done to a fleet. */
export interface StormOptions {
  readonly seconds: number;
  /** The blows, one after the other, and again from the first. */
  readonly ways: readonly Blow[];
  /**
   * The time in milliseconds that tasks get to come to rest, once no new ones
   * begin.
   */
  readonly patienceMs: number;
}

/**
 * Lets clients work with a fleet for a time while its servers are hit one after
 * the other, then compares all there is to see (R15). It never rejects because
 * of what servers do: each failure is one of the `refusals`.
 */
export async function runStorm(
  fleet: ServerFleet,
  options: StormOptions,
): Promise<StormReport> {
  const { seconds, ways, patienceMs } = options;
  const history = new FleetHistory();
  const refusals: string[] = [];
  const limit = AbortSignal.timeout(seconds * 1000 + patienceMs);
  const over = AbortSignal.timeout(seconds * 1000);
  const clients = Array.from(
    { length: CLIENTS },
    () => new FleetClient(fleet, history, limit, refusals),
  );
  const working = Promise.all(clients.map((client) => client.work(over)));
  const takeovers: Record<Blow, number[]> = {
    SIGKILL: [],
    SIGSTOP: [],
    SIGTERM: [],
  };
  let blows = 0;
  while (!over.aborted) {
    const next = delay(PERIOD_MS);
    const way = ways[blows % ways.length] ?? "SIGKILL";
    const times = await noteFailure(refusals, `blow ${blows}`, () =>
      strike(fleet, blows % fleet.size, way, limit),
    );
    takeovers[way].push(...(times ?? []));
    blows++;
    await next;
  }
  await working;
  return {
    report: await check(fleet, history, limit, refusals),
    takeovers,
    blows,
    refusals,
  };
}

/**
 * Returns what some work gives, or undefined when it fails, which the refusals
 * then say.
 */
async function noteFailure<T>(
  refusals: string[],
  what: string,
  work: () => Promise<T>,
): Promise<T | undefined> {
  try {
    return await work();
  } catch (reason) {
    refusals.push(`${what}: ${reason}`);
    return undefined;
  }
}

/**
 * Hits a server, and brings it back. Gives the times in which its open tasks
 * were taken over.
 */
async function strike(
  fleet: ServerFleet,
  index: number,
  way: Blow,
  signal: AbortSignal,
): Promise<readonly number[]> {
  const owner = await ownerOf(fleet, index, signal);
  const [times] = await Promise.all([
    timeTakeovers(fleet, owner, () => fleet.signal(index, way)),
    bringBack(fleet, index, way),
  ]);
  return times;
}

async function bringBack(
  fleet: ServerFleet,
  index: number,
  way: Blow,
): Promise<void> {
  if (way === "SIGSTOP") {
    await delay(STOPPED_MS);
    fleet.signal(index, "SIGCONT");
    return;
  }
  await fleet.server(index).ended;
  await fleet.launch(index);
}

/**
 * Returns the id under which a server holds its leases now: that of a task
 * which it has just begun.
 */
async function ownerOf(
  fleet: ServerFleet,
  index: number,
  signal: AbortSignal,
): Promise<unknown> {
  const message = textMessage(crypto.randomUUID(), "text Here.");
  let taskId = "";
  // A server that was stopped may have lost the connection, which this makes
  // anew.
  for await (const event of streamMessage(
    fleet.client(index),
    { message },
    signal,
  )) {
    taskId = event.taskId;
  }
  const [row] = await fleet.rows("owner", "task", `id = '${taskId}'`);
  return row?.owner;
}

/**
 * Strikes, then waits until no open task has the owner any more. Gives how long
 * each of those took that it had then.
 */
async function timeTakeovers(
  fleet: ServerFleet,
  owner: unknown,
  hit: () => void,
): Promise<number[]> {
  const openTasks = async (): Promise<Set<unknown>> => {
    const rows = await fleet.rows(
      "id",
      "task",
      `owner = '${owner}' AND state IN (${OPEN_STATES})`,
    );
    return new Set(rows.map(({ id }) => id));
  };
  hit();
  const began = performance.now();
  let open = await openTasks();
  const taken: number[] = [];
  while (open.size > 0 && performance.now() - began < LONGEST_TAKEOVER_MS) {
    await delay(20);
    const left = await openTasks();
    const elapsed = performance.now() - began;
    for (const id of open) if (!left.has(id)) taken.push(elapsed);
    open = left;
  }
  return [...taken, ...[...open].map(() => Number.POSITIVE_INFINITY)];
}

function ignoreAnswered(reason: unknown): void {
  if (ConnectError.from(reason).code !== Code.FailedPrecondition) throw reason;
}

/**
 * Reads the log of a task that rests, again if a server ends while it is read.
 */
async function settled(
  client: FleetClient,
  taskId: string,
  signal: AbortSignal,
): Promise<TaskEvent[]> {
  for (;;) {
    try {
      return await settle(client.devtool, taskId, signal);
    } catch (reason) {
      signal.throwIfAborted();
      if (!LOST.includes(ConnectError.from(reason).code)) throw reason;
      await delay(100, undefined, { signal });
    }
  }
}

const LOST: readonly Code[] = [Code.Aborted, Code.Unavailable];

/**
 * Lets all tasks come to rest, and compares what clients saw with the logs and
 * with what the tools did.
 */
async function check(
  fleet: ServerFleet,
  history: FleetHistory,
  signal: AbortSignal,
  refusals: string[],
): Promise<FleetReport> {
  const client = new FleetClient(fleet, history, signal, refusals);
  const logs = new Map<string, TaskEvent[]>();
  for (const [taskId, token] of history.witness.tokens) {
    const log = await noteFailure(refusals, `task ${taskId}`, () =>
      logAtRest(client, taskId, token, signal),
    );
    if (log) logs.set(taskId, log);
  }
  const effects = await readFile(
    join(fleet.workspace, "effects.txt"),
    "utf8",
  ).catch(() => "");
  return checkFleet(history, logs, effects.split("\n").filter(Boolean));
}

/** Approves what a task still asks, and reads its log when it rests. */
async function logAtRest(
  client: FleetClient,
  taskId: string,
  token: string,
  signal: AbortSignal,
): Promise<TaskEvent[]> {
  const task = (await settled(client, taskId, signal)).reduce(
    reduceTask,
    emptyTask(),
  );
  // Another client's approval may have arrived, and its client not have heard
  // of it.
  await client.approve(task, token).catch(ignoreAnswered);
  return settled(client, taskId, signal);
}
