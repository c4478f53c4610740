import { pendingToolCalls, textMessage } from "@devtool/client";
import { loadConsole } from "@devtool/console";
import { temporaryDirectory } from "@devtool/internal/testing/temporary-directory";
import { type Agent, createServer, type DevtoolServer } from "@devtool/server";
import { defineWorkflow, workflowAgent } from "@devtool/workflow";
import type { Browser, Page } from "playwright-core";
import {
  afterAll,
  afterEach,
  beforeAll,
  beforeEach,
  describe,
  expect,
  it,
} from "vitest";
import { CHROMIUM, launch } from "../outer/browser.ts";
import { approve, taskOf } from "../tasks.ts";
import { axeFindings } from "./axe.ts";
import { clientOf, openConsole } from "./console-page.ts";

const FLOW = defineWorkflow({
  name: "release",
  steps: [
    {
      id: "draft",
      loop: {
        until: "{{steps.review.result.text}}",
        startsWith: "APPROVED",
        max: 3,
      },
      steps: [
        { id: "write", agent: "worker", task: "write" },
        {
          id: "review",
          agent: "worker",
          task: "review",
          dependencies: ["write"],
        },
      ],
    },
    { id: "test", agent: "worker", task: "test", retries: 1 },
    {
      id: "publish",
      agent: "worker",
      task: "publish",
      approval: "Publish?",
      dependencies: ["draft", "test"],
    },
  ],
});

describe.skipIf(CHROMIUM === undefined)(
  "the graph of a workflow in the console (skipped without Chromium)",
  () => {
    let browser: Browser;
    let server: DevtoolServer;
    /** What ends the steps that wait, by their tasks. */
    let answers: Map<string, PromiseWithResolvers<string>[]>;

    beforeAll(async () => {
      browser = await launch();
    });
    afterAll(() => browser?.close());
    beforeEach(async () => {
      answers = new Map();
      server = await createServer({
        agents: { release: workflowAgent(FLOW), worker: waitingAgent() },
        workspace: temporaryDirectory(),
        site: await loadConsole(),
      });
    });
    afterEach(() => server.close());

    it("shows each step with its state while it runs, as a picture and as a list", async () => {
      const client = clientOf(server);
      const { task: { id: taskId = "" } = {} } = await client.tasks.sendMessage(
        {
          message: textMessage("begin", "v1"),
          returnImmediately: true,
        },
      );
      await using opened = await openConsole(browser, server);
      const { page } = opened;
      await page.goto(`${server.url}/console/#/session/${taskId}`);
      await page.getByText("Workflow release 0/4").waitFor();
      await shows(page, [
        "draft/write · worker · running · round 1",
        "draft/review · worker · waiting",
        "test · worker · running",
        "publish · worker · waiting",
      ]);
      expect(await page.locator(".workflow svg path").count()).toBe(3);
      expect(await statesInPicture(page)).toEqual([
        "running",
        "waiting",
        "running",
        "waiting",
      ]);
      await say("write", "first");
      await say("review", "no");
      await say("test", "FAIL");
      await shows(page, [
        "draft/write · worker · running · round 2",
        "draft/review · worker · done · round 1",
        "test · worker · running · try 2",
        "publish · worker · waiting",
      ]);
      await say("test", "fine");
      await say("write", "second");
      await say("review", "APPROVED");
      await shows(page, [
        "draft/write · worker · done · round 2",
        "draft/review · worker · done · round 2",
        "test · worker · done · try 2",
        "publish · worker · asks",
      ]);
      expect(await axeFindings(page)).toEqual([]);
      const task = await taskOf(client, taskId);
      expect(pendingToolCalls(task)).toHaveLength(1);
      await Promise.all([approve(client, task), say("publish", "out")]);
      await page.getByText("Workflow release 4/4").waitFor();
      expect(await statesInPicture(page)).toEqual(
        Array<string>(4).fill("succeeded"),
      );
      await page.setViewportSize({ width: 390, height: 800 });
      expect(await axeFindings(page)).toEqual([]);
      expect(opened.faults()).toEqual([]);
    });

    it("says which steps a canceled run has not begun", async () => {
      const client = clientOf(server);
      const { task: { id: taskId = "" } = {} } = await client.tasks.sendMessage(
        {
          message: textMessage("begin", "v1"),
          returnImmediately: true,
        },
      );
      await using opened = await openConsole(browser, server);
      const { page } = opened;
      await page.goto(`${server.url}/console/#/session/${taskId}`);
      await say("test", "fine");
      await page.getByText("test · worker · done").waitFor();
      await client.tasks.cancelTask({ taskId });
      await shows(page, [
        "draft/write · worker · not run · round 1",
        "draft/review · worker · not run",
        "test · worker · done",
        "publish · worker · not run",
      ]);
    });

    /** An agent whose tasks end with what the test says. */
    function waitingAgent(): Agent {
      return {
        about: { name: "Worker", description: "Waits." },
        open: () => ({
          createExecutor: () => ({
            async *execute(turn, signal) {
              const content = turn.prompt?.parts[0]?.content;
              const told = content?.case === "text" ? content.value : "";
              const answer = Promise.withResolvers<string>();
              answers.set(told, [...(answers.get(told) ?? []), answer]);
              signal.addEventListener("abort", () => answer.resolve("FAIL"));
              const text = await answer.promise;
              if (text === "FAIL") throw new Error("it fails");
              yield* turn.say(text);
            },
          }),
        }),
      };
    }

    /** Ends the step that waits with a task. */
    async function say(task: string, text: string): Promise<void> {
      await expect
        .poll(() => answers.get(task)?.length ?? 0)
        .toBeGreaterThan(0);
      answers.get(task)?.shift()?.resolve(text);
    }
  },
);

async function shows(page: Page, steps: readonly string[]): Promise<void> {
  await expect
    .poll(() => page.locator(".workflow li").allTextContents())
    .toEqual(steps);
}

async function statesInPicture(page: Page): Promise<unknown[]> {
  const steps = await page.locator(".workflow svg g").all();
  return Promise.all(steps.map((step) => step.getAttribute("data-status")));
}
