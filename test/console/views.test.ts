import { create } from "@bufbuild/protobuf";
import { createTaskView, textMessage } from "@devtool/client";
import { loadConsole } from "@devtool/console";
import {
  ArtifactUpdateSchema,
  NoticeSchema,
  type Part,
  PartSchema,
  TaskState,
} from "@devtool/schema";
import {
  type Agent,
  type AgentEvent,
  createServer,
  type DevtoolServer,
} from "@devtool/server";
import type { Browser, Page } from "playwright-core";
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { LEFT_TO_CI, variantsOf } from "../depth.ts";
import { CHROMIUM, launch } from "../outer/browser.ts";
import { clientOf, openConsole } from "./console-page.ts";

/** A picture of one red pixel. */
const PIXEL = Buffer.from(
  "iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAIAAACQd1PeAAAADElEQVR4nGP4z8AAAAMBAQDJ/pLvAAAAAElFTkSuQmCC",
  "base64",
);

const PLAN = [
  { content: "Read the log", status: "completed" },
  { content: "Change the limit", status: "in_progress" },
  { content: "Run the tests", status: "pending" },
  { content: "Run the tests", status: "pending" },
];

/** 100,000 characters in 200 paragraphs. */
const LONG = Array.from(
  { length: 200 },
  () => `${"word ".repeat(99)}end.`,
).join("\n\n");

/** An agent that makes what the prompt names, and waits for its user. */
const painter: Agent = {
  about: { name: "Painter", description: "Makes pictures and plans." },
  open: () => ({
    createExecutor: () => ({
      async *execute({ prompt }, signal): AsyncIterable<AgentEvent> {
        const word = prompt?.parts
          .map(({ content }) => content.case === "text" && content.value)
          .join("");
        if (word === "long") yield { case: "text", value: LONG };
        if (word === "plan") {
          yield artifact("Plan", { case: "data", value: { entries: PLAN } });
        }
        if (word === "picture") {
          yield artifact("A red dot", image("dot.png", "image/png"));
          yield artifact("A drawing", image("hostile.svg", "image/svg+xml"));
        }
        if (word === "pieces") {
          const pieces = ["dra", "ft"].map((value) =>
            artifact("Report", { case: "text", value }, "append"),
          );
          yield* pieces;
          await new Promise((resolve) =>
            signal.addEventListener("abort", resolve),
          );
        }
        if (word === "notice") {
          yield {
            case: "notice",
            value: create(NoticeSchema, {
              text: "The model is busy: asked again.",
              attempt: 1,
            }),
          };
          await new Promise((resolve) =>
            signal.addEventListener("abort", resolve),
          );
        }
        yield {
          case: "end",
          value: { state: TaskState.INPUT_REQUIRED, text: "" },
        };
      },
    }),
  }),
};

function artifact(
  name: string,
  content: Part["content"],
  how: "append" | "replace" = "replace",
): AgentEvent {
  const value = create(ArtifactUpdateSchema, {
    append: how === "append",
    artifact: { artifactId: name, name, parts: [{ content }] },
  });
  return { case: "artifact", value };
}

function image(name: string, mediaType: string): Part["content"] {
  const { content } = create(PartSchema, {
    content: {
      case: "file",
      value: { name, mediaType, source: { case: "bytes", value: PIXEL } },
    },
  });
  return content;
}

describe.skipIf(CHROMIUM === undefined)(
  "what the console shows in Chromium (skipped without Chromium)",
  () => {
    let browser: Browser;
    let server: DevtoolServer;

    beforeAll(async () => {
      server = await createServer({
        workspace: process.cwd(),
        agents: { painter },
        site: await loadConsole(),
      });
      browser = await launch();
    });
    afterAll(async () => {
      await browser?.close();
      await server?.close();
    });

    it.each(variantsOf("widths", [320, 1280], 1))(
      "says what to do before there is a session, and before one is chosen, at %i px",
      async (width) => {
        await using empty = await createServer({
          agents: { painter },
          workspace: process.cwd(),
          site: await loadConsole(),
        });
        await using opened = await openConsole(browser, empty, {
          viewport: { width, height: 700 },
        });
        const { page } = opened;
        await page.getByText("No sessions yet.").waitFor();
        await createTaskView(clientOf(empty)).send(
          "nothing",
          AbortSignal.timeout(60_000),
        );
        await page.locator(".row").waitFor();
        expect(await page.getByText("No sessions yet.").count()).toBe(0);
        // On a narrow screen the list fills it.
        expect(
          await page.getByText("Choose a session from the list").isVisible(),
        ).toBe(width > 700);
      },
    );

    it.each(["#/session/%", "#/session/%E0%A4/audit"])(
      "shows the list of sessions at a broken address, such as %s",
      async (address) => {
        await using opened = await openConsole(browser, server);
        const { page } = opened;
        await page.getByRole("link", { name: "New session" }).waitFor();
        await page.evaluate(`location.hash = ${JSON.stringify(address)}`);
        await page.getByRole("link", { name: "Server" }).click();
        await page.getByRole("heading", { name: "Agents" }).waitFor();
        expect(opened.faults()).toEqual([]);
      },
    );

    it("keeps the text and the images of a message that the server refused", async () => {
      await using opened = await openConsole(browser, server);
      const { page } = opened;
      await page.getByRole("link", { name: "New session" }).click();
      await page.getByLabel("Workspace").fill("/");
      await page.getByLabel("Add an image").setInputFiles({
        name: "one.png",
        mimeType: "image/png",
        buffer: PIXEL,
      });
      await page.getByAltText("one.png").waitFor();
      await page.getByLabel("Message").fill("look");
      await page.getByRole("button", { name: "Send" }).click();
      await page.getByRole("alert").waitFor();
      await expect
        .poll(() => page.getByLabel("Message").inputValue())
        .toBe("look");
      expect(await page.getByAltText("one.png").count()).toBe(1);
    });

    it.each([
      [
        "the Enter key",
        (page: Page) => page.getByLabel("Message").press("Enter"),
      ],
      [
        "the button",
        (page: Page) => page.getByRole("button", { name: "Send" }).click(),
      ],
    ])(
      "puts a refused message, sent with %s, before the one that was begun meanwhile",
      async (_way, submit) => {
        await using opened = await openConsole(browser, server);
        const { page } = opened;
        const begun = Promise.withResolvers<void>();
        await page.route("**/StreamMessage", async (route) => {
          await begun.promise;
          await route.continue();
        });
        const image = async (name: string): Promise<void> => {
          await page
            .getByLabel("Add an image")
            .setInputFiles({ name, mimeType: "image/png", buffer: PIXEL });
          await page.getByAltText(name).waitFor();
        };
        await page.getByRole("link", { name: "New session" }).click();
        await page.getByLabel("Workspace").fill("/");
        await image("one.png");
        await page.getByLabel("Message").fill("look");
        await submit(page);
        await expect
          .poll(() => page.getByLabel("Message").inputValue())
          .toBe("");
        await image("two.png");
        await page.getByLabel("Message").fill("and then");
        begun.resolve();
        await page.getByRole("alert").waitFor();
        await expect
          .poll(() => page.getByLabel("Message").inputValue())
          .toBe("look\nand then");
        expect(await attributesOf(page, ".attachments img", "alt")).toEqual([
          "one.png",
          "two.png",
        ]);
      },
    );

    it("shows a plan with the progress of each step, and not a second time as an artifact", async () => {
      await using opened = await openConsole(browser, server);
      const { page } = opened;
      await send(page, "plan");
      await page.getByText("Plan 1/4").waitFor();
      const steps = page.locator(".plan li");
      expect(await steps.allTextContents()).toEqual(
        PLAN.map(({ content }) => content),
      );
      expect(await attributesOf(page, ".plan li", "data-status")).toEqual(
        PLAN.map(({ status }) => status),
      );
      expect(await page.locator(".artifact").count()).toBe(0);
      expect(opened.faults()).toEqual([]);
    });

    it("shows an artifact as it comes, its pieces of text as one", async () => {
      await using opened = await openConsole(browser, server);
      const { page } = opened;
      await send(page, "pieces");
      const report = page.locator(".artifact");
      await report.getByText("draft", { exact: true }).waitFor();
      expect(await report.locator("p").count()).toBe(1);
      await page.getByRole("button", { name: "Stop" }).click();
      expect(opened.faults()).toEqual([]);
    });

    it("shows a long text in parts, so that no frame takes long, and all of it", async () => {
      await using opened = await openConsole(browser, server);
      const { page } = opened;
      await page.getByRole("link", { name: "New session" }).click();
      await page.evaluate(`{
      globalThis.steps = [0];
      const look = () => {
        globalThis.steps.push(document.querySelector(".prose")?.textContent.length ?? 0);
        requestAnimationFrame(look);
      };
      look();
    }`);
      await send(page, "long");
      await page
        .locator('.session-about .state[data-state="INPUT_REQUIRED"]')
        .waitFor();
      await page.locator('.scroll[aria-busy="false"]').waitFor();
      expect(await page.locator(".prose > p").count()).toBe(200);
      const steps: unknown = await page.evaluate(
        "Math.max(...globalThis.steps.map((length, at) => length - (globalThis.steps[at - 1] ?? 0)))",
      );
      expect(Number(steps)).toBeGreaterThan(10_000);
      expect(Number(steps)).toBeLessThanOrEqual(20_000);
    });

    it("lays out a long session that is opened once, when all of it is there, at its end", async () => {
      const { task } = await clientOf(server).tasks.sendMessage({
        message: textMessage(crypto.randomUUID(), "long"),
      });
      await using opened = await openConsole(browser, server);
      const { page } = opened;
      await page.evaluate(`{
      globalThis.heights = [];
      const look = () => {
        const shown = document.querySelectorAll(".prose > p").length;
        if (shown > 0 && shown < 200) globalThis.heights.push(document.querySelector(".column").clientHeight);
        requestAnimationFrame(look);
      };
      look();
    }`);
      await page.goto(`${server.url}/console/#/session/${task?.id}`);
      await expect
        .poll(() =>
          page.evaluate(
            "{ const { scrollTop, clientHeight, scrollHeight } = document.querySelector('.scroll') ?? {}; scrollTop > 5000 && scrollHeight - scrollTop - clientHeight < 5; }",
          ),
        )
        .toBe(true);
      expect(await page.locator(".prose > p").count()).toBe(200);
      const heights: unknown = await page.evaluate("globalThis.heights");
      expect(new Set(Array.isArray(heights) ? heights : []).size).toBe(1);
    });

    it("shows the card of an agent, as the server gives it to other clients", async () => {
      await using several = await createServer({
        agents: {
          painter,
          second: {
            ...painter,
            about: { name: "Second", description: "Another one." },
          },
        },
        workspace: process.cwd(),
        site: await loadConsole(),
      });
      await using opened = await openConsole(browser, several);
      const { page } = opened;
      await page.getByRole("link", { name: "Server" }).click();
      for (const name of ["Painter", "Second"]) {
        const about = page.locator(".server article", {
          has: page.getByRole("heading", { name }),
        });
        await about.getByText("Agent card").click();
        await about
          .locator(".output", { hasText: `"name": "${name}"` })
          .waitFor();
        expect(await about.locator(".output").textContent()).toContain(
          '"supportedInterfaces"',
        );
      }
      expect(opened.faults()).toEqual([]);
    });

    it.skipIf(LEFT_TO_CI !== "")(
      `shows a notice until something else happens${LEFT_TO_CI}`,
      async () => {
        await using opened = await openConsole(browser, server);
        const { page } = opened;
        await send(page, "notice");
        await page
          .locator(".notice", { hasText: "The model is busy: asked again." })
          .waitFor();
        await page.getByRole("button", { name: "Stop" }).click();
        await page.locator(".notice").waitFor({ state: "detached" });
      },
    );

    it("shows the images that an agent makes, and names a drawing that may hold scripts", async () => {
      await using opened = await openConsole(browser, server);
      const { page } = opened;
      await send(page, "picture");
      await page
        .locator(".artifact", { hasText: "A drawing" })
        .getByText("hostile.svg")
        .waitFor();
      expect(await widthOf(page, ".artifact img")).toEqual([1]);
      expect(opened.faults()).toEqual([]);
    });

    it.skipIf(LEFT_TO_CI !== "")(
      `sends images that were chosen, taken out again or pasted, and shows them${LEFT_TO_CI}`,
      async () => {
        await using opened = await openConsole(browser, server);
        const { page } = opened;
        await page.getByRole("link", { name: "New session" }).click();
        const chosen = ["one.png", "two.png"].map((name) => ({
          name,
          mimeType: "image/png",
          buffer: PIXEL,
        }));
        await page.getByLabel("Add an image").setInputFiles(chosen);
        await page.getByAltText("two.png").waitFor();
        await page.getByRole("button", { name: "Remove" }).first().click();
        await page.evaluate(paste(PIXEL.toString("base64")));
        await page.getByAltText("pasted.png").waitFor();
        await page.getByRole("button", { name: "Send" }).click();
        await page.locator(".column img").nth(1).waitFor();
        expect(await attributesOf(page, ".column img", "alt")).toEqual([
          "two.png",
          "pasted.png",
        ]);
        expect(await widthOf(page, ".column img")).toEqual([1, 1]);
        expect(opened.faults()).toEqual([]);
      },
    );
  },
);

async function send(page: Page, text: string): Promise<void> {
  await page.getByRole("link", { name: "New session" }).click();
  await page.getByLabel("Message").fill(text);
  await page.getByRole("button", { name: "Send" }).click();
}

async function attributesOf(
  page: Page,
  selector: string,
  name: string,
): Promise<unknown> {
  return page.evaluate(
    `[...document.querySelectorAll(${JSON.stringify(selector)})].map((one) => one.getAttribute("${name}"))`,
  );
}

/**
 * The widths in pixels of the images that were really read, once all have been.
 */
async function widthOf(page: Page, selector: string): Promise<unknown> {
  return page.evaluate(
    `Promise.all([...document.querySelectorAll(${JSON.stringify(selector)})].map((one) => one.decode().then(() => one.naturalWidth)))`,
  );
}

/** A script that pastes a picture into the message. */
function paste(base64: string): string {
  return `{
    const bytes = Uint8Array.from(atob("${base64}"), (character) => character.charCodeAt(0));
    const clipboardData = new DataTransfer();
    clipboardData.items.add(new File([bytes], "pasted.png", { type: "image/png" }));
    const event = new ClipboardEvent("paste", { clipboardData, bubbles: true });
    document.querySelector(".composer textarea").dispatchEvent(event);
  }`;
}
