import { existsSync, mkdirSync, readFileSync } from "node:fs";
import { join } from "node:path";
import { setTimeout as delay } from "node:timers/promises";
import { fakeAgentCommand } from "@devtool/acp/testing";
import { temporaryDirectory } from "@devtool/internal/testing/temporary-directory";
import { AuditAction } from "@devtool/schema";
import { afterEach, beforeEach, describe, expect, it } from "vitest";
import { readStore } from "../audit/kills.ts";
import { LEFT_TO_CI, roundsOf, variantsOf } from "../depth.ts";
import {
  type ServerProcess,
  startServing,
} from "../durability/crash/server-process.ts";
import { childrenOf } from "./processes.ts";
import { RfcClient, type Shown } from "./rfc-client.ts";

const rounds = roundsOf("DEVTOOL_ACP_KILL_ROUNDS", {
  quick: 1,
  ci: 5,
  deep: 100,
});
const LIMIT_MS = 60_000;

describe.skipIf(LEFT_TO_CI !== "")(
  `an ACP agent whose question waits${LEFT_TO_CI}`,
  () => {
    let base: string;
    let workspace: string;
    let server: ServerProcess;
    beforeEach(async () => {
      base = temporaryDirectory();
      workspace = join(base, "workspace");
      for (const name of ["workspace", "sessions"]) mkdirSync(join(base, name));
      server = await serve();
    });
    afterEach(() => server.kill());

    const kinds: readonly (readonly [
      what: string,
      kills: () => readonly (() => Promise<void>)[],
    ])[] = [
      ["the server", () => [restart]],
      ["the agent", () => [killAgents]],
      ["the agent and then the server", () => [killAgents, restart]],
      ["the server, twice", () => [restart, restart]],
    ];
    it.each(variantsOf("kinds of kills", kinds, 1))(
      "is asked once and runs its call once when kill -9 ends %s",
      async (_, kills) => {
        const asked = await client().begin(
          "say before\njob done.txt\nsay after",
          AbortSignal.timeout(LIMIT_MS),
        );
        expect([asked.state, asked.questions.length]).toEqual([
          "input-required",
          1,
        ]);
        for (const kill of kills()) await kill();
        const ended = await answer(asked, "proceed_once");
        expect([ended.state, ended.text, runs()]).toEqual([
          "completed",
          "after",
          1,
        ]);
        // An error: the question was answered.
        expect((await answer(asked, "proceed_once")).state).toBe("");
        await server.stop();
        expect(await actions()).toEqual([
          "ASKED",
          "APPROVED",
          "STARTED",
          "SUCCEEDED",
        ]);
      },
    );

    it(`does not run a call that was declined before kill -9`, async () => {
      const asked = await client().begin(
        "job done.txt\nsay after",
        AbortSignal.timeout(LIMIT_MS),
      );
      await restart();
      const ended = await answer(asked, "cancel");
      expect([ended.state, ended.text, runs()]).toEqual([
        "completed",
        "after",
        0,
      ]);
    });

    it(
      "never runs its call twice by one answer, whenever kill -9 ends the server after it",
      async () => {
        for (let round = 0; round < rounds; round++) {
          const file = `round-${round}.txt`;
          const asked = await client().begin(
            `job ${file}`,
            AbortSignal.timeout(LIMIT_MS),
          );
          const answering = answer(asked, "proceed_once").catch(
            () => undefined,
          );
          await delay((round * 7) % 30);
          await restart();
          await answering;
          const state = await restOf(asked.taskId);
          // An answer that was lost can be given again.
          if (state === "input-required") {
            await answer(asked, "proceed_once").catch(() => undefined);
          }
          expect(runs(file)).toBeLessThanOrEqual(1);
        }
      },
      LIMIT_MS * rounds,
    );

    it("is asked again about a call that had run before kill -9, although the agent had not said so", async () => {
      const asked = await client().begin(
        "job done.txt hang",
        AbortSignal.timeout(LIMIT_MS),
      );
      const answering = answer(asked, "proceed_once").catch(() => undefined);
      await expect.poll(() => runs(), { timeout: LIMIT_MS }).toBe(1);
      await restart();
      await answering;
      expect(await restOf(asked.taskId)).toBe("input-required");
      const again = await client().say(
        asked,
        "Continue",
        AbortSignal.timeout(LIMIT_MS),
      );
      expect([again.state, again.questions.length, runs()]).toEqual([
        "input-required",
        1,
        1,
      ]);
    });

    it(`asks again about a call whose answer an agent may have got that was killed with it`, async () => {
      const asked = await client().begin(
        "job done.txt\nsay after",
        AbortSignal.timeout(LIMIT_MS),
      );
      for (const pid of childrenOf(server.info.pid)) {
        process.kill(pid, "SIGKILL");
      }
      let shown = await answer(asked, "proceed_once");
      let answers = 1;
      for (; shown.state === "input-required"; answers++) {
        shown = await answer(shown, "proceed_once");
      }
      expect(answers).toBeLessThanOrEqual(2);
      expect([shown.state, runs()]).toEqual(["completed", 1]);
    });

    function serve(): Promise<ServerProcess> {
      const { command, args = [] } = fakeAgentCommand(
        "--state",
        join(base, "sessions"),
      );
      const line = [command, ...args].map((word) => `'${word}'`).join(" ");
      const flags = [
        "--agent",
        `helper=acp:${line}`,
        "--data",
        join(base, "data"),
        "--workspace",
        workspace,
      ];
      return startServing(flags, { ...process.env, HOME: base });
    }

    async function restart(): Promise<void> {
      await server.kill();
      server = await serve();
    }

    async function killAgents(): Promise<void> {
      const agents = childrenOf(server.info.pid);
      expect(agents.length).toBeGreaterThan(0);
      for (const pid of agents) process.kill(pid, "SIGKILL");
      const { said } = server;
      await expect
        .poll(() => said.stderr, { timeout: LIMIT_MS })
        .toContain("ended: it was ended by SIGKILL");
    }

    function client(): RfcClient {
      const { url, token } = server.info;
      return new RfcClient({ url, token, workspace });
    }

    function answer(asked: Shown, option: string): Promise<Shown> {
      const [question = {}] = asked.questions;
      return client().answer(
        asked,
        question,
        option,
        AbortSignal.timeout(LIMIT_MS),
      );
    }

    /** Waits until a task rests, and returns its state. */
    async function restOf(taskId: string): Promise<string> {
      for (;;) {
        const state = await client().stateOf(
          taskId,
          AbortSignal.timeout(LIMIT_MS),
        );
        if (state !== "working" && state !== "submitted") return state;
        await delay(20);
      }
    }

    function runs(file = "done.txt"): number {
      const path = join(workspace, file);
      return existsSync(path)
        ? readFileSync(path, "utf8").trim().split("\n").length
        : 0;
    }

    async function actions(): Promise<string[]> {
      const { records } = await readStore(join(base, "data", "tasks.db"));
      return records.map(({ action }) => AuditAction[action]);
    }
  },
);
