import { temporaryDirectory } from "@devtool/internal/testing/temporary-directory";
import { TaskState } from "@devtool/schema";
import { afterAll, beforeAll, describe, expect, it, vi } from "vitest";
import { ChatUnderTest, StoppableServer } from "../../test/chat-under-test.ts";

describe("Esc, then Esc, in a chat", { timeout: 60_000 }, () => {
  let server: StoppableServer;
  beforeAll(() => {
    server = new StoppableServer(temporaryDirectory());
  });
  afterAll(() => server[Symbol.asyncDispose]());

  const ESC = "escape";
  it.each<[keys: string[], rewinds: number]>([
    [[ESC], 0],
    [[ESC, ESC], 1],
    [["escape twice"], 1],
    [[ESC, ESC, ESC], 1],
    [[ESC, ESC, ESC, ESC], 2],
    [["escape twice", ESC], 1],
    [[ESC, "left", ESC], 0],
    [[ESC, "f5", ESC], 0],
    [[ESC, "left", ESC, ESC], 1],
    [[ESC, "a", "backspace", ESC], 0],
    [["a", ESC, ESC], 0],
    [["a", "escape twice"], 0],
    [["a", ESC, "backspace", ESC], 0],
    [["a", ESC, "backspace", ESC, ESC], 1],
  ])("%j offers the messages to go back to, times %i", (keys, rewinds) => {
    using ui = open();
    for (const key of keys) press(ui, key);
    const told = ui.chat.printout.entries.flatMap(({ lines }) => lines);
    expect(told).toEqual(
      Array(rewinds).fill("· there is no message to go back to yet"),
    );
  });

  it.each([
    ["a turn", (ui: ChatUnderTest) => expect(ui.isBusy).toBe(true)],
    ["a question", ask],
    [
      "a question, from the words of its answer",
      async (ui: ChatUnderTest) => {
        await ask(ui);
        ui.chat.asking.isDeclining = true;
        press(ui, ESC);
        expect(ui.chat.turn.isCanceling).toBe(false);
        expect(ui.chat.asking.isDeclining).toBe(false);
      },
    ],
  ])("cancels %s, and only then offers them", async (_what, prepare) => {
    using ui = open();
    ui.press("Hello.", "return");
    await arrive(ui, () => expect(server.agent.isWaiting).toBe(true));
    await prepare(ui);
    press(ui, ESC);
    expect(ui.chat.turn.isCanceling).toBe(true);
    press(ui, ESC);
    press(ui, ESC);
    await arrive(ui, () => {
      const { task } = ui.chat.tasks.conversation.view.snapshot();
      expect(task.state).toBe(TaskState.CANCELED);
      expect(ui.chat.turn.isCanceling).toBe(false);
    });
    press(ui, ESC);
    await ui.settle();
    expect(ui.chat.picker).toBeUndefined();
    press(ui, ESC);
    await arrive(ui, () => {
      expect(ui.chat.picker?.lines(9).join()).toContain("Hello.");
    });
  });

  function open(): ChatUnderTest {
    return new ChatUnderTest(server, () => undefined);
  }

  async function ask(ui: ChatUnderTest): Promise<void> {
    server.agent.step("ask");
    await arrive(ui, () => expect(ui.chat.asking.call).toBeDefined());
  }
});

function press(ui: ChatUnderTest, key: string): void {
  const text = key.length === 1 ? key : "";
  ui.chat.take({
    case: "key",
    text,
    key:
      key === "escape twice"
        ? { name: "escape", sequence: "\u001b\u001b" }
        : { name: key },
  });
}

/** Lets all arrive that is on its way, until the chat is as expected. */
async function arrive(ui: ChatUnderTest, check: () => void): Promise<void> {
  await vi.waitFor(async () => {
    for (let round = 0; round < 1000 && ui.transport.size > 0; round++) {
      ui.transport.deliver(0);
      await ui.settle();
    }
    check();
  }, 20_000);
}
