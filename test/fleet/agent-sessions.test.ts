import { mkdir, readdir, rm } from "node:fs/promises";
import { join } from "node:path";
import { acpAgent } from "@devtool/acp";
import { fakeAgentCommand } from "@devtool/acp/testing";
import { textMessage } from "@devtool/client";
import { codexAgent } from "@devtool/codex";
import { FAKE_APP_SERVER } from "@devtool/codex/testing";
import { temporaryDirectory } from "@devtool/internal/testing/temporary-directory";
import {
  findPostgres,
  type PostgresServer,
  startPostgres,
  withoutPostgres,
} from "@devtool/postgres/testing";
import { type Task, TaskState } from "@devtool/schema";
import type { Agent } from "@devtool/server";
import {
  afterAll,
  afterEach,
  beforeAll,
  beforeEach,
  describe,
  expect,
  it,
} from "vitest";
import { variantsOf } from "../depth.ts";
import { agentText } from "../tasks.ts";
import { followed, LIMIT_MS } from "./agents.ts";
import { type Replica, startReplicaOf } from "./replicas.ts";

const bin = findPostgres();
const why = withoutPostgres(bin);

/**
 * What an agent says of itself: its process, its session, and what it was told
 * there.
 */
interface Recalled {
  readonly process: number;
  readonly session: string;
  readonly known: readonly string[];
}

/**
 * Agents that keep conversations themselves, by the directory in which they do.
 */
const AGENTS: readonly (readonly [
  name: string,
  agent: (home: string) => Agent,
])[] = [
  [
    "ACP",
    (home) =>
      acpAgent({ name: "fake", command: fakeAgentCommand("--state", home) }),
  ],
  [
    "Codex",
    (home) =>
      codexAgent({
        command: FAKE_APP_SERVER,
        environment: { CODEX_HOME: home, PATH: process.env.PATH ?? "" },
      }),
  ],
];

const PLAYED = variantsOf("agents that keep conversations", AGENTS, 1);

describe.skipIf(bin === undefined).each(PLAYED)(
  `%s behind servers that share a database${why}`,
  (_name, agentAt) => {
    let database: PostgresServer;
    let base: string;
    let one: Replica;
    let other: Replica;
    let schema = 0;
    beforeAll(async () => {
      database = await startPostgres(bin ?? "");
    });
    afterAll(() => database[Symbol.asyncDispose]());
    beforeEach(async () => {
      base = temporaryDirectory();
      for (const name of ["home", "work"]) await mkdir(join(base, name));
      const start = () =>
        startReplicaOf(
          database.url,
          `agents_${schema}`,
          agentAt(join(base, "home")),
          { workspace: join(base, "work") },
        );
      schema++;
      [one, other] = [await start(), await start()];
    });
    afterEach(async () => {
      await one[Symbol.asyncDispose]();
      await other[Symbol.asyncDispose]();
    });

    it("knows in each turn what it was told at any of them", async () => {
      const { contextId } = await say(one, "remember blue");
      await say(other, "remember green", contextId);
      expect(await recall(one, contextId)).toMatchObject({
        known: ["blue", "green"],
      });
      await say(one, "remember red", contextId);
      expect(await recall(other, contextId)).toMatchObject({
        known: ["blue", "green", "red"],
      });
    });

    it("keeps its process while no other server works in the conversation", async () => {
      const { contextId } = await say(one, "remember blue");
      const first = await recall(one, contextId);
      expect(await recall(one, contextId)).toEqual(first);
      const moved = await recall(other, contextId);
      expect([moved.session, moved.process === first.process]).toEqual([
        first.session,
        false,
      ]);
      expect(await recall(other, contextId)).toEqual(moved);
    });

    it("goes on with the session that another server had to begin", async () => {
      const { contextId } = await say(one, "remember blue");
      for (const name of await readdir(join(base, "home"))) {
        await rm(join(base, "home", name));
      }
      const begun = await recall(other, contextId);
      await say(other, "remember green", contextId);
      expect(await recall(one, contextId)).toMatchObject({
        session: begun.session,
        known: ["green"],
      });
    });

    it("works for one server at a time, and for the next one when that has lost its lease", async () => {
      const { contextId } = await say(one, "remember blue");
      const held = await ask(one, contextId);
      const waiting = recall(other, contextId);
      await expect
        .poll(() => statesIn(contextId), { timeout: LIMIT_MS, interval: 5 })
        .toContain(TaskState.SUBMITTED);
      // More than an agent takes that does not wait.
      await recall(one, (await say(one, "remember red")).contextId);
      await one.client.tasks.cancelTask({ taskId: held });
      expect(await waiting).toMatchObject({ known: ["blue"] });
      const ended =
        await database.run(`SELECT id FROM agents_${schema}.task WHERE context_id = '${contextId}'
      ORDER BY time_ms DESC`);
      expect(ended.map(({ id }) => id).indexOf(held)).toBe(1);
      const lost = await ask(other, contextId);
      const next = recall(one, contextId);
      await database.run(`UPDATE agents_${schema}.replica SET alive_until = clock_timestamp()
      WHERE id = '${other.store.shared.leases.owner}'`);
      expect(await next).toMatchObject({ known: ["blue"] });
      await followed(
        one,
        lost,
        ({ state }) => state === TaskState.INPUT_REQUIRED,
      );
    });

    /** Sends a message, and returns its task when it has ended. */
    async function say(
      { client }: Replica,
      text: string,
      contextId = "",
    ): Promise<Task> {
      const { task } = await client.tasks.sendMessage({
        message: textMessage(crypto.randomUUID(), text),
        contextId,
      });
      if (!task) throw new Error("there is no task");
      expect(TaskState[task.state]).toBe("COMPLETED");
      return task;
    }

    async function recall(
      replica: Replica,
      contextId: string,
    ): Promise<Recalled> {
      const said = agentText(await say(replica, "recall", contextId));
      return JSON.parse(/\{.*\}/.exec(said)?.[0] ?? "{}");
    }

    /**
     * Starts a task whose agent asks before it does something. Returns its id
     * when it asks.
     */
    async function ask(replica: Replica, contextId: string): Promise<string> {
      const message = textMessage(crypto.randomUUID(), "ask now");
      const { task } = await replica.client.tasks.sendMessage({
        message,
        contextId,
      });
      expect(task?.state).toBe(TaskState.INPUT_REQUIRED);
      return task?.id ?? "";
    }

    async function statesIn(contextId: string): Promise<unknown[]> {
      const rows = await database.run(
        `SELECT state FROM agents_${schema}.task WHERE context_id = '${contextId}'`,
      );
      return rows.map(({ state }) => state);
    }
  },
);
