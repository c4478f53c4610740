import { setTimeout as delay } from "node:timers/promises";
import { create, type MessageInitShape } from "@bufbuild/protobuf";
import {
  confirmationPart,
  type DevtoolClient,
  pendingToolCalls,
  textMessage,
} from "@devtool/client";
import { codingAgent } from "@devtool/coding-agent";
import { temporaryDirectory } from "@devtool/internal/testing/temporary-directory";
import {
  ApprovalMode,
  BudgetConfigSchema,
  type BudgetSchema,
  emptyTask,
  type SendMessageRequestSchema,
  type Task,
  TaskState,
  UsageSchema,
} from "@devtool/schema";
import { type Agent, createServer, type DevtoolServer } from "@devtool/server";
import { describe, expect, it } from "vitest";
import { createIssuer } from "../auth/issuer.ts";
import { CLIENTS, clientOf } from "../client-of.ts";
import { postJson } from "../post-json.ts";
import { agentText } from "../tasks.ts";

/** An agent whose steps take 200 tokens each. Its prompt is what it does. */
const agent: Agent = {
  about: { name: "Own", description: "Takes 200 tokens for each step." },
  open: () => ({
    createExecutor: () => ({
      modelFor: () => "m-1",
      async *execute(turn, signal) {
        const content = turn.prompt?.parts[0]?.content;
        const [verb, count] = String(content?.value).split(" ");
        const step = { case: "usage", value: USAGE } as const;
        if (verb === "ask") {
          if (turn.news.message) yield step;
          const run = (): string => "ran";
          const call = { toolName: "publish", args: {}, ask: "Publish?", run };
          yield* turn.call(call, signal);
          yield step;
        }
        if (verb === "wait") {
          const ms = Number(count);
          await delay(ms, undefined, { signal });
        }
        if (verb === "hush") {
          // As an agent of others, which stops as if it had ended by itself.
          await delay(60_000, undefined, { signal }).catch(() => undefined);
          return;
        }
        if (verb === "steps") {
          for (let each = 1; each <= Number(count); each++) {
            yield { case: "text", value: `step ${each}. ` };
            yield step;
          }
          return;
        }
        yield { case: "text", value: "done" };
      },
    }),
  }),
};
const USAGE = create(UsageSchema, { inputTokens: 150n, outputTokens: 50n });

const reached = (text: string) => [TaskState.INPUT_REQUIRED, text] as const;

describe("a budget", () => {
  it("ends a turn before the next step, and the next message has a budget of its own", async () => {
    await using server = await serve({ turn: { tokens: 500n } });
    const client = clientOf(server);
    const cut = await send(client, "steps 9");
    expect(outcomeOf(cut)).toEqual(
      reached(
        "This turn used 600 tokens, and the limit is 500. Send a message to go on.",
      ),
    );
    expect(agentText(cut)).toBe("step 1. step 2. step 3. ");
    // What passes the limit with its last step has ended by itself.
    const next = await send(client, "steps 3", { taskId: cut.id });
    expect(outcomeOf(next)).toEqual([TaskState.COMPLETED, ""]);
  });

  it("ends each further turn of a task that has used its own", async () => {
    await using server = await serve({ task: { tokens: 500n } });
    const client = clientOf(server);
    const { id: taskId } = await send(client, "ask");
    const words =
      "This task used 600 tokens, and the limit is 500. Start another task.";
    const answered = await answer(client, taskId);
    expect(outcomeOf(answered)).toEqual([TaskState.COMPLETED, ""]);
    const second = await send(client, "steps 2", { taskId });
    expect(outcomeOf(second)).toEqual(reached(words));
    expect(agentText(second)).toBe("step 1. ");
    const third = await send(client, "steps 1", { taskId });
    expect(outcomeOf(third)).toEqual(reached(words));
    // The agent was not asked.
    expect(third.usage).toEqual(second.usage);
  });

  it.each([
    ["turn", "This turn", ["spender"]],
    ["task", "This task", ["spender"]],
    ["turn", "This turn", ["middle", "spender"]],
    ["task", "This task", ["middle", "spender"]],
  ])(
    "of a %s counts what agents use that are called: %s, over %j",
    async (scope, subject, path) => {
      const free = codingAgent({ approvalMode: ApprovalMode.YOLO });
      await using server = await createServer({
        agents: { main: free, middle: free, spender: agent },
        workspace: temporaryDirectory(),
        budget: create(BudgetConfigSchema, { [scope]: { tokens: 700n } }),
      });
      const call = path.reduceRight(
        (message, name) => `call agent_${name} ${JSON.stringify({ message })}`,
        "steps 2",
      );
      const task = await send(clientOf(server), `${call}\n${call}\ntext Done.`);
      const [state, text] = outcomeOf(task);
      expect(state).toBe(TaskState.INPUT_REQUIRED);
      expect(text).toMatch(new RegExp(`^${subject} used 800 tokens`));
      const once = await send(clientOf(server), `${call}\ntext Done.`);
      expect(outcomeOf(once)).toEqual([TaskState.COMPLETED, ""]);
      expect(agentText(once)).toContain("Done.");
    },
  );

  it("counts all tasks of a principal on a day, and nobody else's, after a restart too", async () => {
    const issuer = await createIssuer();
    const dataDirectory = temporaryDirectory();
    const options = {
      dataDirectory,
      authentication: { jwt: issuer.options },
    };
    const words =
      "Today, your tasks used 600 tokens, and the limit is 600. Send a message after midnight UTC.";
    for (const isAgain of [false, true]) {
      await using server = await serve({ day: { tokens: 600n } }, options);
      const { url } = server;
      const alice = clientOf({ url, token: await issuer.tokenFor("alice") });
      if (!isAgain) {
        await send(alice, "steps 1");
        expect(outcomeOf(await send(alice, "steps 3"))).toEqual(reached(words));
      }
      expect(outcomeOf(await send(alice, "steps 1"))).toEqual(reached(words));
      const inTenant = await answerIn(url, await issuer.tokenFor("alice"));
      expect(inTenant).toContain(words);
      const bob = clientOf({ url, token: await issuer.tokenFor("bob") });
      const other = await send(bob, "steps 1");
      expect(outcomeOf(other)).toEqual([TaskState.COMPLETED, ""]);
    }
  });

  it("is not given back by a deletion on the same day, but the operator may delete", async () => {
    const issuer = await createIssuer();
    const token = "the-operators-token-of-this-test";
    await using server = await serve(
      { callers: [{ roles: ["trial"], day: { tokens: 600n } }] },
      { token, authentication: { jwt: issuer.options } },
    );
    const alice = clientOf({
      url: server.url,
      token: await issuer.tokenFor("alice"),
    });
    const { id: taskId } = await send(alice, "steps 1");
    await expect(alice.tasks.deleteTask({ taskId })).rejects.toThrow(
      `task "${taskId}" counts for the budget of today: delete it after midnight UTC`,
    );
    const operator = clientOf({ url: server.url, token });
    await operator.tasks.deleteTask({ taskId });
  });

  it("is narrower for the principals and roles that the operator names, and for nobody like them", async () => {
    const issuer = await createIssuer();
    await using server = await serve(
      {
        turn: { tokens: 1000n },
        callers: [
          {
            principals: [`${issuer.options.issuer}#alice`],
            turn: { tokens: 400n },
          },
          {
            roles: ["guests"],
            task: { tokens: 200n },
            turn: { tokens: 9000n },
          },
          { roles: ["trial"], day: { tokens: 600n } },
        ],
      },
      { authentication: { jwt: { ...issuer.options, rolesClaim: "groups" } } },
    );
    const as = async (subject: string, ...groups: string[]) =>
      clientOf({
        url: server.url,
        token: await issuer.tokenFor(subject, undefined, { groups }),
      });
    const used = async (client: Promise<DevtoolClient>) => {
      const { stateText } = await send(await client, "steps 9");
      return /used .* is \d+/.exec(stateText)?.[0];
    };
    expect([
      await used(as("alice")),
      await used(as("alice", "guests")),
      await used(as("alice2", "Guests", "https://login.example#alice")),
      await used(as("carol", "guests", "other")),
      await used(as("carol")),
    ]).toEqual([
      "used 400 tokens, and the limit is 400",
      "used 200 tokens, and the limit is 200",
      "used 1000 tokens, and the limit is 1000",
      "used 200 tokens, and the limit is 200",
      "used 1000 tokens, and the limit is 1000",
    ]);
    // The day has what was used without the role, and is each one's own.
    await send(await as("dave"), "steps 2");
    const ofDay = "used 600 tokens, and the limit is 600";
    expect(await used(as("dave", "trial"))).toBe(ofDay);
    expect(await used(as("erin", "trial"))).toBe(ofDay);
    expect(await used(as("erin"))).toContain("limit is 1000");
    const nobody = { callers: [{ turn: { tokens: 1n } }] };
    await expect(serve(nobody)).rejects.toThrow(
      "budget.callers has an entry without principals and roles",
    );
    const day = { tokens: 0n };
    await expect(serve({ callers: [{ roles: ["x"], day }] })).rejects.toThrow(
      'budget.callers.day.tokens "0"',
    );
  });

  it("has what a turn used before a restart, which an answer resumes", async () => {
    const dataDirectory = temporaryDirectory();
    const budget = { turn: { tokens: 400n } };
    let taskId = "";
    {
      await using server = await serve(budget, { dataDirectory });
      taskId = (await send(clientOf(server), "ask")).id;
    }
    await using server = await serve(budget, { dataDirectory });
    expect(outcomeOf(await answer(clientOf(server), taskId))).toEqual(
      reached(
        "This turn used 400 tokens, and the limit is 400. Send a message to go on.",
      ),
    );
  });

  it("limits the cost by the price of the model, and begins nothing without one", async () => {
    const prices = [
      { model: "m-*", input: 1000, output: 3000, cachedInput: 0 },
      { model: "m-1", input: 0, output: 0 },
    ];
    const turn = { cost: 0.5 };
    {
      await using server = await serve({ turn, prices });
      expect(outcomeOf(await send(clientOf(server), "steps 9"))).toEqual(
        reached(
          "This turn used 0.60 of cost, and the limit is 0.5. Send a message to go on.",
        ),
      );
    }
    await using server = await serve({ turn, prices: [{ model: "other" }] });
    const refused = await send(clientOf(server), "steps 9");
    expect(outcomeOf(refused)).toEqual(
      reached(
        'The cost is limited, and model "m-1" has no price. Add it to budget.prices in config.toml.',
      ),
    );
    expect(agentText(refused)).toBe("");
  });

  it("limits the time that a task works, and not the time that it waits for its user", async () => {
    // The time is looked at each second, and a slow machine works for longer.
    await using patient = await serve({ turn: { time: { seconds: 3n } } });
    const asked = await send(clientOf(patient), "ask");
    await delay(3500);
    const answered = await answer(clientOf(patient), asked.id);
    expect(outcomeOf(answered)).toEqual([TaskState.COMPLETED, ""]);
    await using server = await serve({ turn: { time: { seconds: 1n } } });
    const client = clientOf(server);
    for (const prompt of ["wait 60000", "hush"]) {
      const waiting = await send(client, prompt);
      expect(waiting.state).toBe(TaskState.INPUT_REQUIRED);
      expect(waiting.stateText).toMatch(
        /^This turn used [1-9]\d* s of work, and the limit is 1 s\. Send a message to go on\.$/,
      );
    }
  });

  it.each(Object.entries(CLIENTS))(
    "is narrowed by a client for a turn over %s, and never widened",
    async (_binding, open) => {
      await using server = await serve({ turn: { tokens: 500n } });
      const client = open(server);
      const used = async (tokens: bigint): Promise<string> =>
        (await send(client, "steps 9", withBudget({ tokens }))).stateText;
      expect(await used(100n)).toMatch(/^This turn used 200 tokens, .* is 100/);
      expect(await used(9999n)).toMatch(
        /^This turn used 600 tokens, .* is 500/,
      );
    },
  );

  it("is refused where it is not above 0, by whom it comes from", async () => {
    await using server = await serve({});
    const client = clientOf(server);
    const given = send(client, "steps 1", withBudget({ tokens: 0n }));
    await expect(given).rejects.toThrow(
      'message_settings.turn.budget.tokens "0" is not a limit: it must be above 0',
    );
    const day = { time: { seconds: -1n } };
    await expect(serve({ day })).rejects.toThrow(
      'budget.day.time "-1000" is not a limit: it must be above 0',
    );
  });
});

/** What A2A 1.0 answers to a message in a tenant that the caller makes up. */
async function answerIn(url: string, token: string): Promise<string> {
  const message = {
    messageId: crypto.randomUUID(),
    role: "ROLE_USER",
    parts: [{ text: "steps 1" }],
  };
  const response = await postJson(
    { url, token },
    `/${crypto.randomUUID()}/message:send`,
    { message },
    { "a2a-version": "1.0" },
  );
  return response.text();
}

function withBudget(budget: MessageInitShape<typeof BudgetSchema>): Request {
  return { messageSettings: { turn: { budget } } };
}

function outcomeOf({ state, stateText }: Task): readonly [TaskState, string] {
  return [state, stateText];
}

function serve(
  budget: MessageInitShape<typeof BudgetConfigSchema>,
  options: Partial<Parameters<typeof createServer>[0]> = {},
): Promise<DevtoolServer> {
  return createServer({
    ...options,
    agents: { own: agent },
    workspace: temporaryDirectory(),
    budget: create(BudgetConfigSchema, budget),
  });
}

type Request = MessageInitShape<typeof SendMessageRequestSchema>;

async function send(
  client: DevtoolClient,
  text: string,
  more: Request = {},
): Promise<Task> {
  const message = textMessage(crypto.randomUUID(), text);
  const { task } = await client.tasks.sendMessage({ message, ...more });
  return task ?? emptyTask();
}

async function answer(client: DevtoolClient, taskId: string): Promise<Task> {
  const { task } = await client.tasks.getTask({ taskId });
  const parts = pendingToolCalls(task ?? emptyTask()).map((call) =>
    confirmationPart(call, "proceed_once"),
  );
  const message = { messageId: crypto.randomUUID(), parts };
  await client.tasks.sendMessage({ message, taskId });
  const answered = await client.tasks.getTask({ taskId });
  return answered.task ?? emptyTask();
}
