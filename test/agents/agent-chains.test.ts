import { readFileSync } from "node:fs";
import { setTimeout as delay } from "node:timers/promises";
import {
  type AskedToolCall,
  confirmationPart,
  createDevtoolClient,
  type DevtoolClient,
  pendingToolCalls,
  streamMessage,
  textMessage,
} from "@devtool/client";
import { createAgentTransport, fetchAgentCard } from "@devtool/client/a2a";
import { fileText } from "@devtool/internal/testing/files";
import { temporaryDirectory } from "@devtool/internal/testing/temporary-directory";
import { emptyTask, reduceTask, type Task, TaskState } from "@devtool/schema";
import { afterEach, beforeEach, describe, expect, it } from "vitest";
import { childrenOf } from "../acp/processes.ts";
import { LEFT_TO_DEEP, variantsOf } from "../depth.ts";
import { type ChainAgent, ChainParts } from "./chain/parts.ts";

const signal = AbortSignal.timeout(900_000);

/** How many questions the cost of a hop is the median of. */
const QUESTIONS = 40;
/**
 * From ours to the other SDK, from that to our server, from that to the ACP
 * agent, and from that to its own server.
 */
const HOPS = 4;
/** How many questions go before those, while code is compiled. */
const WARM = 20;
/** How long the processes sleep, by which they are found. */
const SECONDS = 600 + Math.random();
const SLEEPS = `sh -c 'sleep ${SECONDS} & sleep ${SECONDS}'`;
/** Ticks of the processor times of /proc, in milliseconds. */
const TICK_MS = 10;

const ARGS = { to: "ada", amount: 7 };
const PAY = `call mcp__payments__pay ${JSON.stringify(ARGS)}\ntext Paid.`;
const TOOL = '"mcp__payments__pay" asks: "pay (MCP server payments: ';

/** A chain, the first one called first, and what its client is asked. */
interface Order {
  readonly name: string;
  readonly build: (parts: ChainParts) => Promise<ChainAgent>;
  readonly script: string;
  /** How each question begins. */
  readonly asks: readonly string[];
  /** What the last question shows: ACP has no calls of MCP servers. */
  readonly shows: "mcpDetails" | "genericDetails";
}

/**
 * All orders of an agent of ours, one of another SDK and one that speaks ACP,
 * in front of the tool of an MCP server. An MCP tool calls nobody, so it is at
 * the end.
 */
const ORDERS: readonly Order[] = [
  {
    name: "ours → A2A → ACP → MCP",
    build: async (parts) =>
      parts.ours(await parts.foreign(await parts.acp("tool"))),
    script: call(PAY),
    asks: ["Agent far (at http", `Agent far → ${TOOL}`],
    shows: "mcpDetails",
  },
  {
    name: "ours → A2A without the extension → ACP → MCP",
    build: async (parts) =>
      parts.ours(await parts.foreign(await parts.acp("tool"), "words")),
    script: call(PAY),
    asks: ["Agent far (at http", "Agent far asks"],
    shows: "genericDetails",
  },
  {
    name: "ours → ACP → A2A → MCP",
    build: async (parts) =>
      parts.ours(await parts.acp(await parts.foreign("tool"))),
    script: call(call(JSON.stringify(ARGS))),
    asks: [
      "Agent far (at http",
      'Agent far → "agent_far" asks: "Agent far (at http',
      'Agent far → "agent_far" asks: "Agent far asks"',
    ],
    shows: "genericDetails",
  },
  {
    name: "A2A → ours → ACP → MCP",
    build: async (parts) =>
      parts.foreign(await parts.ours(await parts.acp("tool"))),
    script: call(PAY),
    asks: ["Agent far (at http", `Agent far → ${TOOL}`],
    shows: "mcpDetails",
  },
  {
    name: "A2A → ACP → ours → MCP",
    build: async (parts) =>
      parts.foreign(await parts.acp(await parts.ours("tool"))),
    script: call(PAY),
    asks: ["Agent far (at http", `Agent far → ${TOOL}`],
    shows: "genericDetails",
  },
  {
    name: "ACP → ours → A2A → MCP",
    build: async (parts) =>
      parts.acp(await parts.ours(await parts.foreign("tool"))),
    script: call(call(JSON.stringify(ARGS))),
    asks: [
      "Agent far (at http",
      'Agent far → "agent_far" asks: "Agent far (at http',
      'Agent far → "far" → "agent_far" asks: "Agent far asks"',
    ],
    shows: "genericDetails",
  },
  {
    name: "ACP → A2A → ours → MCP",
    build: async (parts) =>
      parts.acp(await parts.foreign(await parts.ours("tool"))),
    script: call(PAY),
    asks: ["Agent far (at http", `Agent far → ${TOOL}`],
    shows: "genericDetails",
  },
];

describe("a chain of four", () => {
  let parts: ChainParts;
  beforeEach(() => {
    parts = new ChainParts(temporaryDirectory());
  });
  afterEach(() => parts[Symbol.asyncDispose]());

  it.each(variantsOf("orders of a chain of four", ORDERS, 1, 2))(
    "hands the question up and its answer down, once: $name",
    async ({ build, script, asks, shows }) => {
      const chain = await Chain.open(await build(parts));
      await chain.say(script);
      for (const [index, words] of asks.entries()) {
        const { question } = chain;
        expect(question.description?.slice(0, words.length)).toBe(words);
        if (index === asks.length - 1) {
          const { details } = question.confirmationRequest ?? {};
          expect(details?.case).toBe(shows);
          const shown = [details?.value, question.inputParameters];
          expect(JSON.stringify(shown)).toMatch(/amount\W+7\b/);
        }
        await chain.allow();
      }
      expect([chain.task.state, chain.task.error]).toEqual([
        TaskState.COMPLETED,
        "",
      ]);
      expect(fileText(parts.payments, "")).toBe(`${JSON.stringify(ARGS)}\n`);
    },
  );

  it.each(
    variantsOf(
      "orders of a chain that is canceled",
      ORDERS.filter(({ script }) => script === call(PAY)),
      1,
      1,
    ),
  )(
    "is canceled within a second, down to the processes at its end: $name",
    async ({ build }) => {
      const chain = await Chain.open(await build(parts));
      await chain.say(call(`run ${SLEEPS}`));
      await chain.allow();
      const running = chain.allow();
      while (sleepers().length < 2) await delay(20, undefined, { signal });
      const canceling = chain.cancel();
      // Time in which the machine is too busy for this process does not count.
      let passedMs = 0;
      for (; sleepers().length > 0; passedMs += 20) await delay(20);
      expect(passedMs).toBeLessThan(1000);
      await canceling;
      await running;
      expect(chain.task.state).toBe(TaskState.CANCELED);
    },
  );

  it.skipIf(LEFT_TO_DEEP !== "")(
    `hands a question up and its answer down in 25 ms of the processor a hop${LEFT_TO_DEEP}`,
    async () => {
      const writes = Array.from(
        { length: WARM + QUESTIONS },
        (_, number) => `write file${number}.txt made`,
      ).join("\nnext\n");
      const direct = await costOf(await parts.ours("nothing"), writes, 0);
      const above = await parts.ours(
        await parts.foreign(await parts.acp("nothing")),
      );
      const inChain = await costOf(above, call(writes), 1);
      const [cpuMs = 0, wallMs] = ([0, 1] as const).map(
        (which) => (inChain[which] - direct[which]) / HOPS,
      );
      console.info(
        `a hop takes ${cpuMs.toFixed(1)} ms of the processor and ${wallMs?.toFixed(1)} ms, on average of ${QUESTIONS} questions`,
      );
      expect(cpuMs).toBeLessThan(25);
    },
  );
});

/**
 * Returns the processor time and the time from an answer to the next question,
 * in milliseconds, of a chain that runs alone.
 *
 * @param calls the number of questions before the first one that counts
 */
async function costOf(
  agent: ChainAgent,
  script: string,
  calls: number,
): Promise<readonly [number, number]> {
  const chain = await Chain.open(agent);
  await chain.say(script);
  for (let before = 0; before < calls + WARM; before++) await chain.allow();
  const cpuMs = processorMs();
  const startMs = performance.now();
  for (let count = 0; count < QUESTIONS; count++) await chain.allow();
  expect(chain.task.state, chain.task.error).toBe(TaskState.COMPLETED);
  return [
    (processorMs() - cpuMs) / QUESTIONS,
    (performance.now() - startMs) / QUESTIONS,
  ];
}

/** The processor time of the processes that this one has started. */
function processorMs(): number {
  const times = childrenOf(process.pid).flatMap((pid) => {
    const [, rest = ""] = readFileSync(`/proc/${pid}/stat`, "utf8").split(") ");
    const [user, system] = rest.split(" ").slice(11, 13);
    return [Number(user), Number(system)];
  });
  return times.reduce((sum, one) => sum + one, 0) * TICK_MS;
}

/** The processes of the command that sleeps, and of those that started it. */
function sleepers(): readonly number[] {
  return childrenOf(process.pid).filter((pid) => {
    try {
      const command = readFileSync(`/proc/${pid}/cmdline`, "utf8");
      return command.includes(`sleep\0${SECONDS}`);
    } catch {
      return false;
    }
  });
}

/** A client of the first agent of a chain, over A2A, and its task. */
class Chain {
  readonly #client: DevtoolClient;
  task: Task = emptyTask();

  private constructor(client: DevtoolClient) {
    this.#client = client;
  }

  static async open({ url, token }: ChainAgent): Promise<Chain> {
    const card = await fetchAgentCard({ url, extension: "optional" }, signal);
    const access = token === "" ? {} : { token };
    return new Chain(
      createDevtoolClient(createAgentTransport(card, { url, ...access })),
    );
  }

  get question(): AskedToolCall {
    const [question] = pendingToolCalls(this.task);
    if (question) return question;
    const { state, error } = this.task;
    throw new Error(`nothing is asked: ${TaskState[state]} ${error}`);
  }

  async say(text: string): Promise<void> {
    await this.#send(textMessage(crypto.randomUUID(), text));
  }

  /** Says yes, in words where words were asked for. */
  async allow(): Promise<void> {
    const { question } = this;
    const option = confirmationPart(question, "proceed_once");
    const isInWords = question.description === "Agent far asks";
    const text = { content: { case: "text", value: "yes" } } as const;
    const parts = [option, ...(isInWords ? [text] : [])];
    await this.#send({ messageId: crypto.randomUUID(), parts });
  }

  async cancel(): Promise<void> {
    await this.#client.tasks.cancelTask({ taskId: this.task.id }, { signal });
  }

  async #send(
    message: NonNullable<Parameters<typeof streamMessage>[1]["message"]>,
  ): Promise<void> {
    const { id: taskId } = this.task;
    const request = { message, taskId, activateExtension: true };
    for await (const event of streamMessage(this.#client, request, signal)) {
      this.task = reduceTask(this.task, event);
    }
  }
}

function call(message: string): string {
  return `call agent_far ${JSON.stringify({ message })}`;
}
