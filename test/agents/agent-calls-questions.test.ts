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
  Role,
  type Task,
  TaskState,
  type ToolCall,
  ToolCallStatus,
  toolCallsOf,
} from "@devtool/schema";
import { afterEach, beforeEach, describe, expect, it } from "vitest";
import { DEPTH, roundsOf, seedOf } from "../depth.ts";
import { generator } from "../json-mutants.ts";
import { firstText, taskOf } from "../tasks.ts";
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

/** The call at the end of a chain; a kill may cut it, which then has failed. */
const PAYS = /^pay \(/;
const ENDS = " (SUCCEEDED|FAILED) 1";
/** How a question ends, and how often it was answered. */
const TAKEN = " SUCCEEDED 1";
const WITHDRAWN = " CANCELLED 0";

/** How a turn asks that a kill has cut. */
const GOES_ON =
  /^Agent \w+( → "second" → "agent_second" asks: "Agent second)? asks"? (SUCCEEDED 1|CANCELLED 0)$/;

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
      const ended: Task[] = [];
      let next = 0;
      const work = async (): Promise<void> => {
        while (ended.flatMap(questionsOf).length < QUESTIONS) {
          ended.push(await playChain(++next));
        }
      };
      await Promise.all(Array.from({ length: OPEN }, work)).finally(() =>
        killing.abort(),
      );
      const count = await kills;
      for (const task of ended) checkAbove(task);
      const paid = await checkBelow(next);
      console.info(
        `${count} kills, ${ended.flatMap(questionsOf).length} questions of ${next} chains came up, ${paid} payments`,
      );
      expect(count).toBeGreaterThan(0);
    },
    MAX_MS,
  );

  /** Plays one chain, and returns its first task as it ended. */
  async function playChain(number: number): Promise<Task> {
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
      if (ENDED.has(task.state)) return task;
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

  /**
   * Checks the chains as the task above has them: each question came up once,
   * and its one answer was taken below.
   */
  function checkAbove(task: Task): void {
    expect([TaskState[task.state], task.error], task.id).toEqual([
      "COMPLETED",
      "",
    ]);
    checkCalls(task, [
      /^Agent helper \(at /,
      /^Agent helper → "agent_second" asks: "Agent second \(/,
      /^Agent helper → "second" → "mcp__payments__pay" asks: /,
    ]);
  }

  /**
   * Checks the tasks below: each chain has begun one of each agent, which has
   * ended, and has paid once; at most once where the payment was cut.
   */
  async function checkBelow(chains: number): Promise<number> {
    const paid = paidAmounts();
    const found = { main: [] as number[], second: [] as number[] };
    let calls = 0;
    for await (const task of tasksBelow()) {
      expect(TaskState[task.state], task.id).toBe("COMPLETED");
      const script = firstText(task.history[0]);
      const amount = Number(/amount\W+(\d+)/.exec(script)?.[1]);
      if (script.startsWith("call agent_second")) {
        found.main.push(amount);
        calls += checkCalls(task, [
          /^Agent second \(/,
          /^Agent second → "mcp__payments__pay" asks: /,
        ]).filter(({ description }) =>
          description?.startsWith("Agent second ("),
        ).length;
        continue;
      }
      found.second.push(amount);
      const [pay] = checkCalls(task, [PAYS]);
      const count = paid.filter((one) => one === amount).length;
      const isDone = pay?.status === ToolCallStatus.SUCCEEDED;
      expect(count, task.id).toBeLessThanOrEqual(pay ? 1 : 0);
      expect(count, task.id).toBeGreaterThanOrEqual(isDone ? 1 : 0);
    }
    const all = Array.from({ length: chains }, (_, index) => index + 1);
    expect(found.main.toSorted((one, other) => one - other)).toEqual(all);
    expect(found.second).toHaveLength(calls);
    expect(new Set(found.second).size).toBe(calls);
    return paid.length;
  }

  /**
   * Checks that a task has one call for each of these, with one answer, and no
   * others. A turn that was cut asks whether to go on, and may then leave out
   * what it has not done, as where a question was withdrawn unanswered.
   */
  function checkCalls(
    task: Task,
    expected: readonly RegExp[],
  ): readonly ToolCall[] {
    const calls = task.history.flatMap(toolCallsOf);
    const answered = task.history
      .flatMap(confirmationsOf)
      .map(({ toolCallId }) => toolCallId);
    const prompts = task.history.filter(
      ({ role, parts }) => role === Role.USER && textOf(parts) !== "",
    );
    const shown = calls.map(
      ({ toolCallId, description, status }) =>
        `${description} ${ToolCallStatus[status]} ${answered.filter((id) => id === toolCallId).length}`,
    );
    const rest = shown.filter((one) => !GOES_ON.test(one));
    const isCut =
      rest.length < shown.length ||
      prompts.length > 1 ||
      rest.some((one) => one.endsWith(WITHDRAWN));
    const whole = expected
      .map(
        (one) => new RegExp(`${one.source}.*${one === PAYS ? ENDS : TAKEN}$`),
      )
      .filter((one) => !isCut || rest.some((call) => one.test(call)));
    // What a cut turn has asked may be withdrawn.
    const counted = rest.filter((one) => !isCut || !one.endsWith(WITHDRAWN));
    expect(counted, task.id).toEqual(
      whole.map((one) => expect.stringMatching(one)),
    );
    return calls;
  }

  function paidAmounts(): readonly number[] {
    const file = join(base, "payments");
    return (existsSync(file) ? fileText(base, "payments") : "")
      .split("\n")
      .filter((line) => line !== "")
      .map((line) => Number(/\d+/.exec(line)?.[0]));
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

/** Returns the questions from below that a task was asked and has answered. */
function questionsOf(task: Task): readonly string[] {
  return task.history.flatMap(confirmationsOf).flatMap(({ toolCallId }) => {
    const detail = findToolCallDetail(task, toolCallId);
    return detail?.parentToolCallId ? [`${task.id} ${toolCallId}`] : [];
  });
}

function textOf(parts: Task["history"][number]["parts"]): string {
  return parts
    .flatMap(({ content }) => (content.case === "text" ? content.value : []))
    .join("");
}

function callOf(agent: string, message: string): string {
  return `call agent_${agent} ${JSON.stringify({ message })}`;
}
