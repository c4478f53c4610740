import { existsSync } from "node:fs";
import { mkdir, writeFile } from "node:fs/promises";
import { join } from "node:path";
import { setTimeout as delay } from "node:timers/promises";
import { fileURLToPath } from "node:url";
import { Code, ConnectError } from "@connectrpc/connect";
import {
  callWithRetry,
  confirmationPart,
  pendingToolCalls,
  textMessage,
} from "@devtool/client";
import { fileText } from "@devtool/internal/testing/files";
import { temporaryDirectory } from "@devtool/internal/testing/temporary-directory";
import {
  confirmationsOf,
  findToolCallDetail,
  type Task,
  TaskState,
  ToolCallStatus,
  toolCallsOf,
} from "@devtool/schema";
import { afterEach, beforeEach, describe, expect, it } from "vitest";
import { clientOf } from "../client-of.ts";
import { DEPTH, roundsOf, seedOf } from "../depth.ts";
import {
  type ServerProcess,
  startServing,
} from "../durability/crash/server-process.ts";
import { generator } from "../json-mutants.ts";
import { taskOf } from "../tasks.ts";
import { SteadyAddress } from "./chain/steady-address.ts";

/** How many questions come up from below, at least. */
const QUESTIONS = roundsOf("DEVTOOL_CHAIN_QUESTIONS", {
  quick: 2,
  ci: 4,
  deep: 1000,
});
/** How many chains are open at once. */
const OPEN = Math.min(12, Math.ceil(QUESTIONS / 2));

/** 1,000 questions took 41 minutes on two processors that others used, too. */
const MAX_MS = DEPTH === "deep" ? 4 * 3_600_000 : 180_000;

const signal = AbortSignal.timeout(MAX_MS);
const random = generator(seedOf());

const NAMES = ["above", "below"] as const;
type Name = (typeof NAMES)[number];
/** Who is killed, in turn. */
const KILLS: readonly (readonly Name[])[] = [NAMES, ["above"], ["below"]];

const PAYMENTS = fileURLToPath(
  new URL("../mcp/payment-server.ts", import.meta.url),
);
const ENDED: ReadonlySet<TaskState> = new Set([
  TaskState.COMPLETED,
  TaskState.FAILED,
  TaskState.CANCELED,
  TaskState.REJECTED,
]);

/** Calls that are repeated while nobody is there. */
const PATIENT = { maxAttempts: 1000 };

/**
 * Each chain is of four: an agent, one of another server, another one there,
 * and the tool of an MCP server. A question is counted where it comes up.
 */
describe("the questions of chains of agents whose servers are killed at random", () => {
  let base: string;
  let address: Record<Name, SteadyAddress>;
  let servers: Record<Name, ServerProcess>;
  /** How many answers the chains were given. */
  let answers = 0;

  beforeEach(async () => {
    base = temporaryDirectory();
    answers = 0;
    await mkdir(join(base, "work"));
    address = {
      above: await SteadyAddress.open(),
      below: await SteadyAddress.open(),
    };
    await prepare(
      "below",
      `[[agents]]
name = "main"
module = "devtool"
[[agents]]
name = "second"
module = "devtool"
[[mcp_servers]]
name = "payments"
[mcp_servers.stdio]
command = ${JSON.stringify(process.execPath)}
args = ["--experimental-transform-types", "--disable-warning=ExperimentalWarning", ${JSON.stringify(PAYMENTS)}]
env = { PAYMENTS = ${JSON.stringify(join(base, "payments"))} }
`,
    );
    const below = await start("below");
    await writeFile(join(base, "token"), below.info.token, { mode: 0o600 });
    await prepare(
      "above",
      `[[remote_agents]]
name = "helper"
url = ${JSON.stringify(address.below.url)}
token_file = ${JSON.stringify(join(base, "token"))}
`,
    );
    servers = { below, above: await start("above") };
  });
  afterEach(async () => {
    await Promise.all(NAMES.map((name) => servers[name].kill()));
    await Promise.all(
      NAMES.map((name) => address[name][Symbol.asyncDispose]()),
    );
  });

  it(
    `are each answered exactly once: at least ${QUESTIONS}`,
    async () => {
      const killing = new AbortController();
      const kills = killAtRandom(killing.signal);
      const answered: string[] = [];
      let next = 0;
      const work = async (): Promise<void> => {
        while (answered.length < QUESTIONS) {
          answered.push(...(await playChain(++next)));
        }
      };
      await Promise.all(Array.from({ length: OPEN }, work)).finally(() =>
        killing.abort(),
      );
      const count = await kills;
      const { asked, paid } = await checkBelow();
      console.info(
        `${count} kills, ${answered.length} questions of ${next} chains came up, ${asked} were answered below, ${paid} payments`,
      );
      expect(new Set(answered).size).toBe(answered.length);
      expect(count).toBeGreaterThan(0);
    },
    MAX_MS,
  );

  /**
   * Plays one chain to its end, and returns the questions that came up in it,
   * after each was seen to have one answer.
   */
  async function playChain(number: number): Promise<readonly string[]> {
    const pay = `call mcp__payments__pay {"to":"ada","amount":${number}}\ntext Paid.`;
    const script = callOf("helper", callOf("second", pay));
    const { task: begun } = await above((client, limit) =>
      client.tasks.sendMessage(
        {
          message: textMessage(
            `00000000-0000-4000-8000-${String(number).padStart(12, "0")}`,
            script,
          ),
          returnImmediately: true,
        },
        { signal: limit },
      ),
    );
    const taskId = begun?.id ?? "";
    for (;;) {
      const task = await taskAbove(taskId);
      if (ENDED.has(task.state)) return answeredIn(task);
      await answer(task);
      await delay(100);
    }
  }

  /** Says yes to all that a task asks, once: a repeated message is the same. */
  async function answer(task: Task): Promise<void> {
    const [question] = pendingToolCalls(task);
    if (!question) return;
    const { toolCallId, shownDigest } = question;
    const shown = Buffer.from(shownDigest ?? []).toString("hex");
    const messageId = `${toolCallId}:${shown}`;
    await above((client, limit) =>
      client.tasks.sendMessage(
        {
          message: {
            messageId,
            parts: [confirmationPart(question, "proceed_once")],
          },
          taskId: task.id,
          returnImmediately: true,
        },
        { signal: limit },
      ),
    ).catch((reason: unknown) => {
      // Asked differently meanwhile, or not any more: the next look shows it.
      const { code } = ConnectError.from(reason);
      if (code !== Code.FailedPrecondition && code !== Code.InvalidArgument) {
        throw reason;
      }
    });
    answers++;
  }

  /** Returns the questions from below that a task has had, each with one answer. */
  function answeredIn(task: Task): readonly string[] {
    const answers = task.history.flatMap(confirmationsOf);
    const ids = answers.map(({ toolCallId }) => toolCallId);
    expect(new Set(ids).size, task.id).toBe(ids.length);
    return ids.flatMap((id) => {
      const detail = findToolCallDetail(task, id);
      return detail?.parentToolCallId ? [`${task.id} ${id}`] : [];
    });
  }

  /**
   * Checks that no call below has two answers, and that what was paid was paid
   * once, after somebody had said yes.
   */
  async function checkBelow(): Promise<{ asked: number; paid: number }> {
    const allowed: unknown[] = [];
    const done: unknown[] = [];
    let asked = 0;
    for await (const { history, id } of tasksBelow()) {
      const ids = history
        .flatMap(confirmationsOf)
        .map(({ toolCallId }) => toolCallId);
      expect(new Set(ids).size, id).toBe(ids.length);
      asked += ids.length;
      for (const call of history.flatMap(toolCallsOf)) {
        const { toolCallId, toolName, inputParameters, status } = call;
        if (toolName !== "mcp__payments__pay") continue;
        if (ids.includes(toolCallId)) allowed.push(inputParameters?.amount);
        const isDone = status === ToolCallStatus.SUCCEEDED;
        if (isDone) done.push(inputParameters?.amount);
      }
    }
    const file = join(base, "payments");
    const paid = (existsSync(file) ? fileText(base, "payments") : "")
      .split("\n")
      .filter((line) => line !== "")
      .map((line) => Number(/\d+/.exec(line)?.[0]));
    expect(new Set(paid).size, "nothing is paid twice").toBe(paid.length);
    expect(allowed).toEqual(expect.arrayContaining(paid));
    expect(paid).toEqual(expect.arrayContaining(done));
    return { asked, paid: paid.length };
  }

  async function* tasksBelow(): AsyncIterable<Task> {
    const { tasks } = clientOf(servers.below.info);
    let pageToken = "";
    do {
      const page = await tasks.listTasks({ pageToken, pageSize: 100 });
      for (const { id } of page.tasks) {
        yield await taskOf(clientOf(servers.below.info), id);
      }
      pageToken = page.nextPageToken;
    } while (pageToken !== "");
  }

  /** Kills after some further answers, so that the chains get on. */
  async function killAtRandom(until: AbortSignal): Promise<number> {
    for (let count = 0; ; count++) {
      const from = answers;
      const further = 1 + Math.floor(random() * OPEN);
      while (answers < from + further && !until.aborted) await delay(20);
      if (until.aborted) return count;
      await delay(random() * 500);
      const killed = KILLS[count % KILLS.length] ?? NAMES;
      for (const name of killed) address[name].lead(undefined);
      await Promise.all(killed.map((name) => servers[name].kill()));
      // The one above is back first and finds nobody below.
      for (const name of killed) servers[name] = await start(name);
    }
  }

  async function taskAbove(taskId: string): Promise<Task> {
    const { task } = await above((client, limit) =>
      client.tasks.getTask({ taskId }, { signal: limit }),
    );
    if (!task) throw new Error("there is no task");
    return task;
  }

  function above<T>(
    call: (
      client: ReturnType<typeof clientOf>,
      limit: AbortSignal,
    ) => Promise<T>,
  ): Promise<T> {
    const { token } = servers.above.info;
    const client = clientOf({ url: address.above.url, token });
    return callWithRetry((limit) => call(client, limit), PATIENT, signal);
  }

  async function prepare(name: Name, config: string): Promise<void> {
    await mkdir(join(base, name), { mode: 0o700 });
    await writeFile(join(base, name, "config.toml"), config, { mode: 0o600 });
  }

  async function start(name: Name): Promise<ServerProcess> {
    const server = await startServing([
      ...["--data", join(base, name)],
      ...["--workspace", join(base, "work")],
      ...["--public-url", address[name].url],
    ]);
    address[name].lead(server.info.url);
    return server;
  }
});

function callOf(agent: string, message: string): string {
  return `call agent_${agent} ${JSON.stringify({ message })}`;
}
