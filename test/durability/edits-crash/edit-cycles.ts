import { readdir, readFile, watch } from "node:fs/promises";
import { join } from "node:path";
import { DatabaseSync } from "node:sqlite";
import { setTimeout as delay } from "node:timers/promises";
import {
  type DevtoolClient,
  pendingToolCalls,
  textMessage,
} from "@devtool/client";
import { temporaryDirectory } from "@devtool/internal/testing/temporary-directory";
import {
  emptyTask,
  openToolCalls,
  reduceTask,
  type Task,
  TaskState,
  type ToolCall,
  ToolCallStatus,
  toolCallsOf,
} from "@devtool/schema";
import { startServerProcess } from "../crash/server-process.ts";
import { approve, clientFor, Witness } from "../crash/workload.ts";

/**
 * The outcome of edits whose server was killed. All counts but the first three
 * are zero when nothing is wrong.
 */
export interface EditReport {
  readonly tasks: number;
  /** Edits that were reported as made. */
  readonly made: number;
  /** Edits of those that were found to be made after a restart. */
  readonly settled: number;
  /** Files with more or fewer edits in them than were reported as made. */
  readonly misreported: number;
  /**
   * Edits that failed, whatever the reason: nothing but the server ever stood
   * in their way.
   */
  readonly failed: number;
  /**
   * Tasks with a call that neither ended nor asks. A task that was cut between
   * calls waits for its user.
   */
  readonly stuck: number;
  /** Temporary files in the workspace. */
  readonly leftovers: number;
}

interface Directories {
  readonly data: string;
  readonly workspace: string;
}

const WRITERS = 4;
/** A server that shows nothing is killed all the same. */
const LONGEST_SILENCE_MS = 5000;
const MARK = "+";

/** How a server is killed, and what is done to its log. */
export interface EditCycles {
  readonly cycles: number;
  readonly random: () => number;
  /**
   * When it is killed: at any time, or right after it put a file in place, when
   * that is often not recorded yet.
   */
  readonly kill: "at any time" | "after an edit";
  readonly sabotage: "none" | "forget-start";
}

/**
 * Kills a server again and again while it edits files, lets it finish, and
 * compares the files with what it says (R1 for edits).
 */
export async function runEditCycles(options: EditCycles): Promise<EditReport> {
  const root = temporaryDirectory();
  const directories = {
    data: join(root, "data"),
    workspace: join(root, "workspace"),
  };
  const witness = new Witness();
  for (let cycle = 0; cycle < options.cycles; cycle++) {
    const life = options.random() * 200;
    await crashOnce(directories, witness, async () => {
      await delay(life);
      if (options.kill === "after an edit") {
        await editIn(directories.workspace);
      }
    });
    if (options.sabotage === "forget-start") {
      forgetStarts(join(directories.data, "tasks.db"));
    }
  }
  return await finish(directories, witness);
}

async function crashOnce(
  directories: Directories,
  witness: Witness,
  live: () => Promise<void>,
): Promise<void> {
  const server = await startServerProcess(directories);
  const clients = new AbortController();
  const client = clientFor(server.info);
  const shown = witness.nextEvent();
  const writers = Array.from({ length: WRITERS }, () =>
    write(client, witness, clients.signal).catch(() => undefined),
  );
  // Counted from its first event: on a busy machine a server would be killed
  // before it did anything.
  await Promise.race([
    shown,
    delay(LONGEST_SILENCE_MS, undefined, { ref: false }),
  ]);
  await live();
  await server.kill();
  clients.abort();
  await Promise.all(writers);
}

/** Waits until a file is put in place in a directory; not forever. */
async function editIn(directory: string): Promise<void> {
  const changes = watch(directory, {
    signal: AbortSignal.timeout(LONGEST_SILENCE_MS),
  });
  try {
    for await (const { filename } of changes) {
      if (filename?.endsWith(".txt")) return;
    }
  } catch (reason) {
    if (!(reason instanceof Error) || reason.name !== "AbortError") {
      throw reason;
    }
  }
}

/**
 * Starts tasks that edit a file of their own step by step, and approves all
 * they ask; until the signal aborts.
 */
async function write(
  client: DevtoolClient,
  witness: Witness,
  signal: AbortSignal,
): Promise<void> {
  while (!signal.aborted) {
    const token = witness.token();
    const path = `${token}.txt`;
    const several = {
      file_path: path,
      edits: [{ old_string: "begin", new_string: `begin ${MARK}` }],
    };
    const steps = [
      `edit ${path} begin => begin ${MARK}`,
      `call multi_edit ${JSON.stringify(several)}`,
    ];
    const script = [`write ${path} begin`, ...steps, ...steps, "text end"].join(
      "\nnext\n",
    );
    let task = emptyTask();
    for await (const { event } of client.tasks.streamMessage(
      { request: { message: textMessage(token, script) } },
      { signal },
    )) {
      if (!event) continue;
      witness.record(event, token);
      task = reduceTask(task, event);
    }
    await approveAll(client, task, { token, witness, signal });
  }
}

async function approveAll(
  client: DevtoolClient,
  task: Task,
  context: {
    readonly token: string;
    readonly witness: Witness;
    readonly signal: AbortSignal;
  },
): Promise<Task> {
  let now = task;
  while (pendingToolCalls(now).length > 0) {
    now = await approve(client, now, context);
  }
  return now;
}

async function finish(
  directories: Directories,
  witness: Witness,
): Promise<EditReport> {
  const server = await startServerProcess(directories);
  const client = clientFor(server.info);
  const signal = AbortSignal.timeout(300_000);
  try {
    const ended: (readonly [string, Task])[] = [];
    for (const [taskId, token] of witness.tokens) {
      await approveAll(client, await settled(client, taskId, signal), {
        token,
        witness,
        signal,
      });
      ended.push([token, await settled(client, taskId, signal)]);
    }
    return await report(ended, directories.workspace);
  } finally {
    await server.stop();
  }
}

/** The task, once it rests. */
async function settled(
  client: DevtoolClient,
  taskId: string,
  signal: AbortSignal,
): Promise<Task> {
  for (;;) {
    const { task } = await client.tasks.getTask({ taskId }, { signal });
    if (
      task &&
      task.state !== TaskState.WORKING &&
      task.state !== TaskState.SUBMITTED
    ) {
      return task;
    }
    await delay(5, undefined, { signal });
  }
}

async function report(
  tasks: readonly (readonly [string, Task])[],
  workspace: string,
): Promise<EditReport> {
  const calls = tasks.flatMap(([, task]) => task.history.flatMap(toolCallsOf));
  const files = await Promise.all(
    tasks.map(([token]) =>
      readFile(join(workspace, `${token}.txt`), "utf8").catch(() => ""),
    ),
  );
  const names = await readdir(workspace);
  return {
    tasks: tasks.length,
    made: calls.filter(isMade).length,
    settled: calls.filter(isSettled).length,
    misreported: tasks.filter(
      ([, task], index) =>
        files[index] !== expectedContent(task.history.flatMap(toolCallsOf)),
    ).length,
    failed: calls.filter(({ status }) => status === ToolCallStatus.FAILED)
      .length,
    stuck: tasks.filter(([, task]) => openToolCalls(task).length > 0).length,
    leftovers: names.filter((name) => name.endsWith(".devtool-tmp")).length,
  };
}

/**
 * Returns the content of a task's file if each edit that was reported as made
 * was made once.
 */
export function expectedContent(calls: readonly ToolCall[]): string {
  const made = calls.filter(isMade);
  return made.length === 0 ? "" : `begin${` ${MARK}`.repeat(made.length - 1)}`;
}

function isMade({ status }: ToolCall): boolean {
  return status === ToolCallStatus.SUCCEEDED;
}

function isSettled({ result }: ToolCall): boolean {
  const output = result.case === "output" ? result.value.result : undefined;
  return (
    output?.case === "text" &&
    output.value.includes("before the server stopped")
  );
}

/**
 * Forgets, as a careless server would, that the last call of each task has
 * begun, and all after it.
 */
function forgetStarts(path: string): void {
  const database = new DatabaseSync(path);
  const begun =
    "SELECT task_id, max(sequence) AS sequence FROM event WHERE instr(data, x'1002') GROUP BY task_id";
  for (const { task_id: id, sequence } of database.prepare(begun).all()) {
    if (id === undefined || sequence === undefined) continue;
    database
      .prepare("DELETE FROM event WHERE task_id = ? AND sequence >= ?")
      .run(id, sequence);
    const head =
      "UPDATE task SET sequence = (SELECT max(sequence) FROM event WHERE task_id = id), state = ? WHERE id = ?";
    database.prepare(head).run(TaskState.WORKING, id);
  }
  database.close();
}
