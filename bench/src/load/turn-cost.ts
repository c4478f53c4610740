/**
 * Compares the cost of a turn in a task of 3,000 turns with that in a short
 * task. Turns of both alternate in one run.
 */
import { writeFileSync } from "node:fs";
import { join } from "node:path";
import {
  prompt,
  type Seen,
  type Send,
  send,
  stream,
  stream1,
  type Target,
  taskIdOf,
} from "../client.ts";
import { median, numberNamed, printRow } from "./row.ts";
import { sabotageNamed } from "./sabotage.ts";
import { startWatchedServer } from "./watched-server.ts";

const TURNS = numberNamed("turns", 3000);
const MEASURED = 201;
/** Number of turns after which the short task is replaced by a new one. */
const FEW = 50;

type Drive = (target: Target, send: Send) => Promise<Seen>;

await using server = await startWatchedServer({
  tickMs: 1000,
  sabotage: sabotageNamed(),
});
writeFileSync(join(server.workspace, "file.txt"), "content\n");
const long = await taskWith(TURNS);
await compare("message/stream", {
  drive: stream,
  text: "text hello",
  atMost: 1.2,
});
await compare("message/send", { drive: send, text: "text hello", atMost: 1.2 });
// Each update of a call copies the list of messages, not what is in them.
await compare("ten-reads", {
  drive: stream,
  text: "read file.txt x10",
  atMost: 1.5,
});

await compareChains();

interface Play {
  readonly drive: Drive;
  readonly text: string;
  /**
   * The bound of what a turn takes after many, divided by what it takes after
   * few.
   */
  readonly atMost: number;
}

async function compare(
  name: string,
  { drive, text, atMost }: Play,
): Promise<void> {
  const few: Seen[] = [];
  const many: Seen[] = [];
  let short = await taskWith(2);
  for (let index = 0; index < MEASURED; index++) {
    if (index % FEW === FEW - 1) short = await taskWith(2);
    few.push(await drive(server, turnOf(short, text)));
    many.push(await drive(server, turnOf(long, text)));
  }
  const ms = [few, many].map((seen) =>
    median(seen.map(({ totalMs }) => totalMs)),
  );
  const bytes = [few, many].map((seen) => median(seen.map((one) => one.bytes)));
  const [fewMs = 0, manyMs = 0] = ms;
  const [fewBytes = 0, manyBytes = 0] = bytes;
  console.log(
    `# ${name}: ${fewMs.toFixed(2)} ms, ${fewBytes} bytes after few turns; ${manyMs.toFixed(2)} ms, ${manyBytes} bytes after ${TURNS}`,
  );
  printRow({
    name: `turn-cost.${name}.time-ratio`,
    value: manyMs / fewMs,
    target: { atMost },
  });
  printRow({
    name: `turn-cost.${name}.bytes-ratio`,
    value: manyBytes / fewBytes,
    target: { atMost: 1.2 },
  });
}

/**
 * In A2A 1.0 each turn of a conversation is a task, which goes on from the one
 * before.
 */
async function compareChains(): Promise<void> {
  const few: Seen[] = [];
  const many: Seen[] = [];
  let short = await chainOf(2);
  let long = await chainOf(TURNS);
  for (let index = 0; index < MEASURED; index++) {
    if (index % FEW === FEW - 1) short = await chainOf(2);
    const [one, other] = [
      await stream1(server, turnOf(short, "text hello")),
      await stream1(server, turnOf(long, "text hello")),
    ];
    few.push(one);
    many.push(other);
    short = taskIdOf(one);
    long = taskIdOf(other);
  }
  const [fewMs = 0, manyMs = 0] = [few, many].map((seen) =>
    median(seen.map(({ totalMs }) => totalMs)),
  );
  console.log(
    `# A2A 1.0: ${fewMs.toFixed(2)} ms after few tasks of a context; ${manyMs.toFixed(2)} ms after ${TURNS}`,
  );
  printRow({
    name: "turn-cost.chain.time-ratio",
    value: manyMs / fewMs,
    target: { atMost: 1.2 },
  });
}

/**
 * Makes a conversation of A2A 1.0 with this number of tasks, and returns the id
 * of the last.
 */
async function chainOf(tasks: number): Promise<string> {
  let taskId = taskIdOf(await stream1(server, prompt("text hello")));
  for (let index = 1; index < tasks; index++) {
    taskId = taskIdOf(await stream1(server, turnOf(taskId, "text hello")));
  }
  return taskId;
}

async function taskWith(turns: number): Promise<string> {
  const taskId = taskIdOf(await stream(server, prompt("text hello")));
  for (let index = 1; index < turns; index++) {
    await stream(server, turnOf(taskId, "text hello"));
  }
  return taskId;
}

function turnOf(taskId: string, text: string): Send {
  return { ...prompt(text), taskId };
}
