import { readFile } from "node:fs/promises";
import { join } from "node:path";
import { DatabaseSync } from "node:sqlite";
import { setTimeout as delay } from "node:timers/promises";
import type { DevtoolClient } from "@devtool/client";
import { temporaryDirectory } from "@devtool/internal/testing/temporary-directory";
import {
  endsExchange,
  type TaskEvent,
  TaskState,
  ToolCallStatus,
} from "@devtool/schema";
import { type CrashReport, checkCrash } from "./check.ts";
import { startServerProcess } from "./server-process.ts";
import { approve, clientFor, Witness, writer } from "./workload.ts";

/**
 * A fault put into the data while the server is down, to see that the check
 * notices.
 */
export type Sabotage = "none" | "forget-events" | "forget-start";

/** How often to crash, and how. */
export interface CrashOptions {
  readonly cycles: number;
  readonly seed: number;
  readonly sabotage: Sabotage;
}

const WRITERS = 4;

/**
 * Kills a server again and again while clients work with it, lets it finish,
 * and reports what became of their tasks (R1).
 */
export async function runCrashCycles({
  cycles,
  seed,
  sabotage,
}: CrashOptions): Promise<CrashReport> {
  const root = temporaryDirectory();
  const directories = {
    data: join(root, "data"),
    workspace: join(root, "workspace"),
  };
  const witness = new Witness();
  const random = mulberry32(seed);
  for (let cycle = 0; cycle < cycles; cycle++) {
    const lifeMs = 5 + random() * 195;
    // A forgotten start can be detected only if the tool has already had its
    // effect, which takes a while on a busy machine.
    const from =
      sabotage === "forget-start"
        ? "its first result"
        : MOMENTS[cycle % MOMENTS.length];
    await crashOnce(directories, witness, {
      lifeMs,
      from: from ?? "its start",
    });
    spoil(join(directories.data, "tasks.db"), sabotage);
  }
  return await finish(directories, witness);
}

interface Directories {
  readonly data: string;
  readonly workspace: string;
}

/**
 * From when the life of a server is counted. What tools need is loaded when the
 * first task asks for it: counted from the first event alone, a server on a
 * busy machine would be dead before it ran anything.
 */
const MOMENTS = [
  "its start",
  "its first event",
  "its first tool",
  "its first tool",
] as const;

/** How long a server lives, and from when that is counted. */
interface Life {
  readonly lifeMs: number;
  readonly from: (typeof MOMENTS)[number] | "its first result";
}

/** A server that shows nothing is killed all the same. */
const LONGEST_SILENCE_MS = 5000;

async function crashOnce(
  directories: Directories,
  witness: Witness,
  { lifeMs, from }: Life,
): Promise<void> {
  const server = await startServerProcess(directories);
  const clients = new AbortController();
  const client = clientFor(server.info);
  const shown =
    from === "its start" ? Promise.resolve() : witness.nextEvent(SIGNS[from]);
  const writers = Array.from({ length: WRITERS }, () =>
    writer(client, witness, clients.signal).catch(() => undefined),
  );
  const confirmer = confirmOpen(client, witness, clients.signal).catch(
    () => undefined,
  );
  await Promise.race([
    shown,
    delay(LONGEST_SILENCE_MS, undefined, { ref: false }),
  ]);
  await delay(lifeMs);
  await server.kill();
  clients.abort();
  await Promise.all([...writers, confirmer]);
}

/**
 * The event from which the life of a server is counted. Undefined: the first
 * one of any kind.
 */
const SIGNS = {
  "its first event": undefined,
  "its first tool": hasToolIn(ToolCallStatus.EXECUTING),
  "its first result": hasToolIn(ToolCallStatus.SUCCEEDED),
};

/**
 * Returns a function that says whether an event shows a tool call with a
 * status.
 */
function hasToolIn(status: ToolCallStatus): (event: TaskEvent) => boolean {
  return ({ payload }) =>
    payload.case === "toolCall" && payload.value.status === status;
}

/** Approves what tasks of earlier lives still ask. */
async function confirmOpen(
  client: DevtoolClient,
  witness: Witness,
  signal: AbortSignal,
): Promise<void> {
  const { tasks } = await client.tasks.listTasks(
    { state: TaskState.INPUT_REQUIRED, pageSize: 20 },
    { signal },
  );
  for (const { id } of tasks) {
    await approveTask(client, id, { witness, signal });
  }
}

async function approveTask(
  client: DevtoolClient,
  taskId: string,
  {
    witness,
    signal,
  }: { readonly witness: Witness; readonly signal: AbortSignal },
): Promise<void> {
  const { task } = await client.tasks.getTask({ taskId }, { signal });
  const token = witness.tokens.get(taskId);
  if (task && token !== undefined) {
    await approve(client, task, { token, witness, signal });
  }
}

async function finish(
  directories: Directories,
  witness: Witness,
): Promise<CrashReport> {
  const server = await startServerProcess(directories);
  const client = clientFor(server.info);
  const signal = AbortSignal.timeout(300_000);
  try {
    for (const taskId of witness.tokens.keys()) {
      await settle(client, taskId, signal);
      await approveTask(client, taskId, { witness, signal }).catch(
        () => undefined,
      );
    }
    const logs = new Map<string, TaskEvent[]>();
    for (const taskId of witness.tokens.keys()) {
      logs.set(taskId, await settle(client, taskId, signal));
    }
    const effects = await readFile(
      join(directories.workspace, "effects.txt"),
      "utf8",
    ).catch(() => "");
    return checkCrash(witness, logs, effects.split("\n").filter(Boolean));
  } finally {
    await server.stop();
  }
}

/** Reads a task's log until the task rests. */
export async function settle(
  client: DevtoolClient,
  taskId: string,
  signal: AbortSignal,
): Promise<TaskEvent[]> {
  const { task } = await client.tasks.getTask({ taskId }, { signal });
  const head = task?.sequence ?? 0n;
  const log: TaskEvent[] = [];
  // Leaving the loop ends no call: it would hold its connection, and a server
  // takes 4,096 of them.
  const left = new AbortController();
  const limits = AbortSignal.any([signal, left.signal]);
  for await (const { event } of client.tasks.subscribeTask(
    { taskId },
    { signal: limits },
  )) {
    if (!event) continue;
    log.push(event);
    if (event.sequence >= head && endsExchange(event)) break;
  }
  left.abort();
  return log;
}

/**
 * Damages the data as a server would that forgets: what it acknowledged, or
 * that a tool had begun.
 */
function spoil(path: string, sabotage: Sabotage): void {
  if (sabotage === "none") return;
  const database = new DatabaseSync(path);
  const forgotten =
    sabotage === "forget-events"
      ? "SELECT task_id, max(sequence) AS sequence FROM event GROUP BY task_id HAVING max(sequence) > 2"
      : "SELECT task_id, min(sequence) AS sequence FROM event WHERE instr(data, CAST('run_shell_command' AS BLOB)) AND instr(data, x'1002') GROUP BY task_id";
  for (const row of database.prepare(forgotten).all()) {
    const { task_id: id, sequence } = row;
    if (id === undefined || sequence === undefined) continue;
    const kept = Number(sequence) - 1;
    database
      .prepare("DELETE FROM event WHERE task_id = ? AND sequence > ?")
      .run(id, kept);
    database
      .prepare(
        "UPDATE task SET sequence = (SELECT max(sequence) FROM event WHERE task_id = id), state = ? WHERE id = ?",
      )
      .run(TaskState.WORKING, id);
  }
  database.close();
}

/**
 * A small generator of random numbers with a seed, so that a run can be
 * repeated.
 */
function mulberry32(seed: number): () => number {
  let state = seed >>> 0;
  return () => {
    state = (state + 0x6d2b79f5) >>> 0;
    let mixed = Math.imul(state ^ (state >>> 15), state | 1);
    mixed = (mixed + Math.imul(mixed ^ (mixed >>> 7), mixed | 61)) ^ mixed;
    return ((mixed ^ (mixed >>> 14)) >>> 0) / 4294967296;
  };
}
