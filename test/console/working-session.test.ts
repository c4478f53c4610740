import { EventEmitter, on, once } from "node:events";
import { createTaskView } from "@devtool/client";
import { loadConsole } from "@devtool/console";
import { temporaryDirectory } from "@devtool/internal/testing/temporary-directory";
import { type Agent, createServer, type DevtoolServer } from "@devtool/server";
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { variantsOf } from "../depth.ts";
import { CHROMIUM, launch } from "../outer/browser.ts";
import { clientOf, openConsole } from "./console-page.ts";

/**
 * Time in milliseconds between two events of a session that works: less than a
 * distant server takes to answer.
 */
const TICK_MS = 20;
/** How many events come while the server is asked. */
const TICKS_MEANWHILE = 10;

describe.skipIf(CHROMIUM === undefined)(
  "a session that works all the time (skipped without Chromium)",
  () => {
    const clock = new EventEmitter();
    let timer: NodeJS.Timeout;
    let workspace: string;
    let server: DevtoolServer;

    beforeAll(async () => {
      clock.setMaxListeners(0);
      timer = setInterval(() => clock.emit("tick"), TICK_MS);
      workspace = temporaryDirectory();
      server = await createServer({
        agents: { worker: workerOf(clock) },
        workspace,
        site: await loadConsole(),
      });
    });
    afterAll(async () => {
      clearInterval(timer);
      await server?.close();
    });

    const parts = [
      { part: "rules", method: "GetWorkspaceSettings", shows: ".rules li" },
      { part: "checkpoints", method: "ListCheckpoints", shows: ".checkpoint" },
      { part: "timeline", method: "SubscribeTask", shows: ".event" },
      { part: "audit", method: "ReadAudit", shows: ".hint" },
    ];
    it.each(variantsOf("parts of a session", parts, 1))(
      "shows its $part, though events come faster than the server answers",
      async ({ part, method, shows }) => {
        const signal = AbortSignal.timeout(120_000);
        const client = clientOf(server);
        const view = createTaskView(client);
        const sent = view.send("work", signal);
        await expect.poll(() => view.snapshot().task.id).not.toBe("");
        const { id: taskId } = view.snapshot().task;
        await using browser = await launch();
        await using opened = await openConsole(browser, server);
        const { page } = opened;
        await page.goto(`${server.url}/console/#/session/${taskId}`);
        await page.locator(".prose", { hasText: "step" }).waitFor();
        await page.route(`**/${method}`, async (route) => {
          for (let tick = 0; tick < TICKS_MEANWHILE; tick++) {
            // A request may still wait when the agent has been stopped.
            await once(clock, "tick", { signal }).catch(() => undefined);
          }
          await route.continue().catch(() => undefined);
        });
        await page.goto(`${server.url}/console/#/session/${taskId}/${part}`);
        await page.locator(shows).first().waitFor();
        await page.locator('.state[data-state="WORKING"]').first().waitFor();
        await client.tasks.cancelTask({ taskId }, { signal });
        await sent;
        expect(opened.faults()).toEqual([]);
      },
    );
  },
);

/** An agent that says something with each tick until it is canceled. */
function workerOf(clock: EventEmitter): Agent {
  return {
    about: { name: "Worker", description: "Works." },
    open: () => ({
      createExecutor: () => ({
        async *execute(_turn, signal) {
          for await (const _tick of on(clock, "tick", { signal })) {
            yield { case: "text", value: "step " };
          }
        },
      }),
      workspace: {
        checkpoints: () => Promise.resolve([{ id: "one", label: "first" }]),
        settings: () =>
          Promise.resolve({
            rules: [{ name: "rule", description: "what it says" }],
          }),
      },
    }),
  };
}
