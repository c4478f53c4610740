import { acpAgent } from "@devtool/acp";
import { fakeAgentCommand } from "@devtool/acp/testing";
import { type DevtoolClient, textMessage } from "@devtool/client";
import { temporaryDirectory } from "@devtool/internal/testing/temporary-directory";
import { type Task, TaskState } from "@devtool/schema";
import { createServer, type DevtoolServer } from "@devtool/server";
import { afterEach, beforeEach, describe, expect, it } from "vitest";
import { clientOf } from "../client-of.ts";
import { LEFT_TO_CI, roundsOf, variantsOf } from "../depth.ts";
import { childrenOf } from "./processes.ts";

const { COMPLETED, FAILED } = TaskState;

/**
 * The faults of an agent in a turn, by the prompt that triggers each, with the
 * final state of the task.
 */
const FAULTS: readonly (readonly [
  name: string,
  prompt: string,
  state: TaskState,
])[] = [
  ["prints what is not JSON", "print this is not JSON\nsay after", COMPLETED],
  [
    "prints JSON that is not a message",
    'print [1,{"a":null}]\nprint "text"\nprint null\nsay after',
    COMPLETED,
  ],
  [
    "sends updates that are not in the protocol",
    'print {"jsonrpc":"2.0","method":"session/update","params":{"sessionId":7,"update":{"sessionUpdate":"new"}}}\nsay after',
    COMPLETED,
  ],
  [
    "sends updates for sessions that do not exist",
    `${updateFor("nobody")}\nsay after`,
    COMPLETED,
  ],
  [
    "answers requests that nobody made",
    'print {"jsonrpc":"2.0","id":99999,"result":{}}\nsay after',
    COMPLETED,
  ],
  [
    "calls methods that do not exist",
    'print {"jsonrpc":"2.0","id":"x","method":"none/such","params":{}}\nsay after',
    COMPLETED,
  ],
  ["writes to standard error", "complain no luck\nsay after", COMPLETED],
  ["sends a message that is too long", "long 20000000\nsay after", FAILED],
  ["floods", "flood 300000\nsay after", FAILED],
  ["dies", "die 9", FAILED],
  ["dies without an error", "die 0", FAILED],
  ["answers with an error", "fail -32603 no luck", FAILED],
];

/** The steps at which an agent dies or hangs, by its flags. */
const STEPS = ["initialize", "session/new", "session/prompt"] as const;

const PLAYED = variantsOf("faults of ACP agents", FAULTS, 5);

const rounds = roundsOf("DEVTOOL_ACP_CHAOS_ROUNDS", {
  quick: 1,
  ci: 1,
  deep: 50,
});

describe.skipIf(LEFT_TO_CI !== "")(
  `ACP agents that misbehave${LEFT_TO_CI}`,
  () => {
    let base: string;
    let server: DevtoolServer;
    let client: DevtoolClient;
    let before: readonly number[];
    beforeEach(() => {
      before = childrenOf(process.pid);
      base = temporaryDirectory();
    });
    afterEach(async () => {
      await server.close();
      expect(
        childrenOf(process.pid).filter((pid) => !before.includes(pid)),
      ).toEqual([]);
    });

    it(
      "end in a state of a task, disturb no other session and leave no process",
      async () => {
        await serve({});
        for (let round = 0; round < rounds; round++) {
          const over = new AbortController();
          const calm = watchCalm(over.signal);
          const ended = await Promise.all(
            PLAYED.map(([, prompt]) => send("wild", prompt)),
          );
          over.abort();
          expect(
            ended.map(({ state }, index) => [
              PLAYED[index]?.[0],
              TaskState[state],
            ]),
          ).toEqual(PLAYED.map(([name, , state]) => [name, TaskState[state]]));
          expect(new Set(await calm)).toEqual(new Set(["still here"]));
        }
      },
      180_000 * rounds,
    );

    it.each(STEPS)(
      "fail the task when they die at %s, and say so",
      async (step) => {
        await serve({ flags: ["--die-at", step] });
        const [task, other] = await Promise.all([
          send("wild", "say one"),
          send("calm", "say two"),
        ]);
        expect([TaskState[task.state], answerOf(other)]).toEqual([
          "FAILED",
          "two",
        ]);
        expect(reasonOf(task)).toMatch(/ended with exit code 9/);
      },
    );

    it.each(["initialize", "session/new"])(
      "fail the task when they hang at %s",
      async (step) => {
        await serve({ flags: ["--hang-at", step], startTimeoutMs: 1500 });
        const [task, other] = await Promise.all([
          send("wild", "say one"),
          send("calm", "say two"),
        ]);
        expect([TaskState[task.state], answerOf(other)]).toEqual([
          "FAILED",
          "two",
        ]);
        expect(reasonOf(task)).toContain("1500");
      },
    );

    it("that hang in a turn are ended when the task is canceled", async () => {
      await serve({ cancelTimeoutMs: 500 });
      const message = textMessage(crypto.randomUUID(), "hang");
      const { task } = await client.tasks.sendMessage({
        message,
        sessionSettings: { agent: "wild" },
        returnImmediately: true,
      });
      const canceled = await client.tasks.cancelTask({
        taskId: task?.id ?? "",
      });
      expect(TaskState[canceled.task?.state ?? 0]).toBe("CANCELED");
      expect(answerOf(await send("wild", "say again"))).toBe("again");
    });

    interface Wildness {
      readonly flags?: readonly string[];
      readonly startTimeoutMs?: number;
      readonly cancelTimeoutMs?: number;
    }

    /** Serves a wild agent, and a calm one beside it. */
    async function serve({ flags = [], ...limits }: Wildness): Promise<void> {
      server = await createServer({
        workspace: base,
        agents: {
          wild: acpAgent({
            name: "Wild",
            command: fakeAgentCommand(...flags),
            limits,
          }),
          calm: acpAgent({ name: "Calm", command: fakeAgentCommand() }),
        },
      });
      client = clientOf(server);
    }

    async function send(agent: string, prompt: string): Promise<Task> {
      const message = textMessage(crypto.randomUUID(), prompt);
      const { task } = await client.tasks.sendMessage({
        message,
        sessionSettings: { agent },
      });
      if (!task) throw new Error("there is no task");
      return task;
    }

    /**
     * Talks to the calm agent until the signal aborts, at least once, and
     * returns its answers.
     */
    async function watchCalm(signal: AbortSignal): Promise<string[]> {
      const answers: string[] = [];
      do answers.push(answerOf(await send("calm", "say still here")));
      while (!signal.aborted);
      return answers;
    }
  },
);

/** Why a task is in its state. */
function reasonOf({ stateText, error }: Task): string {
  return `${stateText} ${error}`;
}

/** The last text of a task's conversation. */
function answerOf({ history }: Task): string {
  return (history.at(-1)?.parts ?? [])
    .map(({ content }) => (content.case === "text" ? content.value : ""))
    .join("");
}

function updateFor(sessionId: string): string {
  const update = {
    sessionUpdate: "agent_message_chunk",
    content: { type: "text", text: "x" },
  };
  return `print ${JSON.stringify({ jsonrpc: "2.0", method: "session/update", params: { sessionId, update } })}`;
}
