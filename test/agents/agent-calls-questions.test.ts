import { existsSync } from "node:fs";
import { join } from "node:path";
import { setTimeout as delay } from "node:timers/promises";
import { fileURLToPath } from "node:url";
import { Code, ConnectError } from "@connectrpc/connect";
import {
  callWithRetry,
  confirmationPart,
  type DevtoolClient,
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
import { DEPTH, roundsOf, seedOf } from "../depth.ts";
import { generator } from "../json-mutants.ts";
import { taskOf } from "../tasks.ts";
import { KILLS, TwoServers } from "./chain/two-servers.ts";

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
  let servers: TwoServers;
  /** How many answers the chains were given. */
  let answers = 0;

  beforeEach(async () => {
    base = temporaryDirectory();
    answers = 0;
    servers = await TwoServers.start(base, {
      above: "",
      below: `[[agents]]
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
    });
  });
  afterEach(() => servers[Symbol.asyncDispose]());

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
    const below = servers.client("below");
    let pageToken = "";
    do {
      const page = await below.tasks.listTasks({ pageToken, pageSize: 100 });
      for (const { id } of page.tasks) {
        yield await taskOf(below, id);
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
      await servers.kill(KILLS[count % KILLS.length] ?? []);
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
    call: (client: DevtoolClient, limit: AbortSignal) => Promise<T>,
  ): Promise<T> {
    const client = servers.client("above");
    return callWithRetry((limit) => call(client, limit), PATIENT, signal);
  }
});

function callOf(agent: string, message: string): string {
  return `call agent_${agent} ${JSON.stringify({ message })}`;
}
