/**
 * How long the command with the coding agent, and a server with an agent of
 * twenty lines, take to listen, and their memory at rest; how long the chat
 * takes to its prompt; and what a command takes that asks a server.
 */
import { spawnSync } from "node:child_process";
import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { chatProblem, startChat } from "./chat-start.ts";
import { median, numberNamed, printRow } from "./load/row.ts";
import { type Cost, Starts } from "./starts.ts";
import { watchStolenTime } from "./stolen-time.ts";
import {
  DEVTOOL,
  ECHO,
  endedMs,
  LIBRARIES,
  NODE_HTTP,
  ROOT,
  startSubject,
} from "./subject.ts";

/** The number of starts of each server; the median counts. */
const STARTS = numberNamed("starts", 11);

const stolen = watchStolenTime();
const caches = mkdtempSync(join(tmpdir(), "devtool-bench-caches-"));
try {
  const starts = {
    node: new Starts(NODE_HTTP),
    libraries: new Starts(LIBRARIES),
    server: new Starts(ECHO),
    command: new Starts({ ...DEVTOOL, env: { XDG_CACHE_HOME: caches } }),
  };
  // In turns, so that other load of the machine affects all.
  for (let index = 0; index <= STARTS; index++) {
    for (const each of Object.values(starts)) await each.measureNext();
  }
  const node = starts.node.cost();
  const command = starts.command.cost();
  printCost("a server of Node alone", node);
  printCost("the command", command);
  printRow({
    name: "command.start-ms",
    value: command.startMs,
    target: { atMost: 300 },
  });
  printRow({
    name: "command.idle-over-node-mb",
    value: command.restingMb - node.restingMb,
    target: { atMost: 28 },
  });
  await using beside = await startBeside();
  await printChat(beside);
  await printTasks(beside);
  const libraries = starts.libraries.cost();
  const server = starts.server.cost();
  printCost("a server of Node with libraries and messages loaded", libraries);
  printCost("the server", server);
  printRow({
    name: "server.start-over-libraries",
    value: server.startCpuMs / libraries.startCpuMs,
    target: { atMost: 1.25 },
  });
  printRow({
    name: "server.idle-over-libraries-mb",
    value: server.restingMb - libraries.restingMb,
    target: { atMost: 5 },
  });
} finally {
  rmSync(caches, { recursive: true, force: true });
}
console.log(
  `# Node ${process.version}, medians of ${STARTS} starts, ${stolen()}`,
);

/** A server that runs while commands beside it are measured. */
interface Beside extends AsyncDisposable {
  readonly data: string;
}

async function startBeside(): Promise<Beside> {
  const env = { XDG_CACHE_HOME: caches };
  const server = await startSubject({ ...DEVTOOL, env });
  return {
    data: `${server.workspace}-data`,
    [Symbol.asyncDispose]: () => server[Symbol.asyncDispose](),
  };
}

/**
 * Starts the chat beside a server that runs, in turns with Node alone. Prints
 * the processor time until its prompt over that of Node. The first start is not
 * counted: it fills the cache of compiled code.
 */
async function printChat({ data }: Beside): Promise<void> {
  const problem = chatProblem();
  if (problem !== undefined) return console.log(`# skipped: ${problem}`);
  const env = { XDG_CACHE_HOME: caches };
  await startChat(data, env);
  const starts = [];
  let node = 0;
  for (let index = 0; index < STARTS; index++) {
    node += runNode(["--eval", "0"]);
    starts.push(await startChat(data, env));
  }
  const [startMs, cpuMs, nodeMs] = [
    median(starts.map((one) => one.startMs)),
    median(starts.map((one) => one.startCpuMs)),
    node / STARTS,
  ];
  console.log(
    `# the chat: ${startMs.toFixed(0)} ms, ${cpuMs.toFixed(0)} ms of them of a processor, Node alone ${nodeMs.toFixed(0)} ms`,
  );
  printRow({
    name: "chat.start-over-node",
    value: cpuMs / nodeMs,
    target: { atMost: 9 },
  });
}

/**
 * Lists the tasks of a server that runs, in turns with Node alone. Prints the
 * processor time of the one over that of the other. The first list is not
 * counted, as with the chat.
 */
async function printTasks({ data }: Beside): Promise<void> {
  const list = [
    join(ROOT, "packages/cli/dist/main.js"),
    "tasks",
    "--data",
    data,
  ];
  runNode(list);
  let [node, tasks] = [0, 0];
  for (let index = 0; index < STARTS; index++) {
    node += runNode(["--eval", "0"]);
    tasks += runNode(list);
  }
  const [nodeMs, tasksMs] = [node / STARTS, tasks / STARTS];
  console.log(
    `# tasks: ${tasksMs.toFixed(0)} ms of a processor, Node alone ${nodeMs.toFixed(0)} ms`,
  );
  printRow({
    name: "tasks.over-node",
    value: tasks / node,
    target: { atMost: 5 },
  });
}

/** Runs Node to its end. Returns its processor time in milliseconds. */
function runNode(args: readonly string[]): number {
  const before = endedMs();
  const { status } = spawnSync(process.execPath, args, {
    env: { ...process.env, XDG_CACHE_HOME: caches },
    stdio: ["ignore", "ignore", "inherit"],
  });
  if (status !== 0) throw new Error(`node ${args.join(" ")} failed`);
  return endedMs() - before;
}

function printCost(
  name: string,
  { startMs, startCpuMs, restingMb }: Cost,
): void {
  const times = `${startMs.toFixed(0)} ms, ${startCpuMs} ms of them of a processor`;
  console.log(`# ${name}: ${times}, ${restingMb.toFixed(1)} MB`);
}
