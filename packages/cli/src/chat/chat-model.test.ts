import { temporaryDirectory } from "@devtool/internal/testing/temporary-directory";
import fc from "fast-check";
import { afterAll, beforeAll, describe, expect, it, vi } from "vitest";
import { roundsOf, seedOf } from "../../../../test/depth.ts";
import {
  ChatUnderTest,
  type Step,
  StoppableServer,
} from "../../test/chat-under-test.ts";

const RUNS = roundsOf("DEVTOOL_CHAT_RUNS", {
  quick: 40,
  ci: 150,
  deep: 10_000,
});

/** What happens next: at the keyboard, in the agent, on the connection. */
type Action =
  | { readonly does: "send" | "steer" | "escape" | "up" | "answer" | "new" }
  | { readonly does: "agent"; readonly step: Step }
  | { readonly does: "deliver"; readonly after: number }
  | { readonly does: "arrive" | "cut" | "kill" | "start" };

/** An action, as often as its weight says. */
function often(weight: number, ...actions: readonly Action[]) {
  return { weight, arbitrary: fc.constantFrom(...actions) };
}

/** Type-ahead: messages, turns that end, and what arrives when. */
const TYPING = [
  often(4, { does: "send" }),
  often(2, { does: "agent", step: "end" }),
  often(1, { does: "agent", step: "say" }),
  often(6, { does: "deliver", after: 0 }, { does: "deliver", after: 1 }),
  often(1, { does: "arrive" }),
];

/** Everything else that can happen to them. */
const TROUBLE = [
  often(1, { does: "steer" }, { does: "up" }, { does: "new" }),
  often(2, { does: "escape" }, { does: "answer" }),
  often(2, { does: "agent", step: "ask" }, { does: "agent", step: "fail" }),
  often(3, { does: "deliver", after: 2 }, { does: "start" }),
  often(1, { does: "cut" }, { does: "kill" }),
];

describe("U1: a message of the chat", {
  timeout: 60_000 + RUNS * 2_000,
}, () => {
  let directory: string;
  let server: StoppableServer;

  beforeAll(() => {
    vi.useFakeTimers({ toFake: ["setTimeout", "clearTimeout"] });
    directory = temporaryDirectory();
    server = new StoppableServer(directory);
    // No wait before a call is made again.
    vi.spyOn(Math, "random").mockReturnValue(0);
  });
  afterAll(async () => {
    vi.restoreAllMocks();
    vi.useRealTimers();
    await server[Symbol.asyncDispose]();
  });

  it.each([
    ["while turns end", fc.oneof(...TYPING)],
    ["whatever happens in whatever order", fc.oneof(...TYPING, ...TROUBLE)],
  ])("is answered, shown as waiting, or given back: %s", async (_when, one) => {
    const property = fc.asyncProperty(
      fc.array(one, { maxLength: 30, size: "max" }),
      async (actions) => {
        using played = new Played(server);
        await played.play(actions);
      },
    );
    await fc.assert(property, {
      numRuns: RUNS,
      seed: seedOf(),
      endOnFailure: true,
    });
    expect([...seen]).toContain("answered");
  });

  it("is not left without a word with a new conversation during a cancellation", async () => {
    using played = new Played(server);
    await played.play([
      { does: "send" },
      { does: "deliver", after: 0 },
      { does: "agent", step: "ask" },
      { does: "send" },
      { does: "arrive" },
      { does: "escape" },
      { does: "deliver", after: 2 },
      { does: "deliver", after: 0 },
      { does: "new" },
    ]);
  });

  it("has met all that can become of one", () => {
    expect([...seen].toSorted()).toEqual([
      "answered",
      "ended",
      "input",
      "told",
    ]);
  });
});

/** What has become of messages so far. */
const seen = new Set<"answered" | "ended" | "input" | "told">();

/** A chat in which actions are played. */
class Played implements Disposable {
  readonly #ui: ChatUnderTest;
  readonly #server: StoppableServer;
  readonly #sent: string[] = [];
  readonly #log: string[] = [];

  constructor(server: StoppableServer) {
    this.#server = server;
    this.#ui = new ChatUnderTest(server, (ms) => vi.advanceTimersByTime(ms));
  }

  async play(actions: readonly Action[]): Promise<void> {
    for (const action of actions) {
      await this.#perform(action);
      await this.#ui.settle();
      this.#checkShown(JSON.stringify(action));
    }
    await this.#finish();
    this.#checkShown("the end");
    this.#checkDone();
  }

  [Symbol.dispose](): void {
    this.#ui[Symbol.dispose]();
  }

  async #perform(action: Action): Promise<void> {
    const { transport, chat } = this.#ui;
    switch (action.does) {
      case "send":
      case "steer": {
        const text = `m${this.#sent.length}m`;
        // What came back stands in the input, and goes with the next message.
        this.#ui.press(text, action.does === "send" ? "return" : "steer");
        this.#sent.push(text);
        return;
      }
      case "escape":
      case "up":
        return this.#ui.press("", action.does);
      case "answer":
        return this.#ui.answer("y");
      case "new":
        if (chat.composer.text === "") this.#ui.press("/new", "return");
        return;
      case "agent":
        return this.#server.agent.step(action.step);
      case "deliver":
        return transport.deliver(action.after);
      case "arrive":
        return this.#arrive();
      case "cut":
        return transport.cut();
      case "kill":
        if (transport.isGone) return;
        transport.isGone = true;
        transport.cut();
        return this.#server.stop();
      case "start":
        if (transport.isGone) this.#server.start();
        transport.isGone = false;
        return;
    }
  }

  /** Lets all arrive that is on its way. */
  async #arrive(): Promise<void> {
    for (let round = 0; round < 1000 && this.#ui.transport.size > 0; round++) {
      this.#ui.transport.deliver(0);
      await this.#ui.settle();
    }
  }

  /** Ends all turns, with an answer to each question. */
  async #finish(): Promise<void> {
    await this.#perform({ does: "start" });
    for (let round = 0; round < 100; round++) {
      await this.#arrive();
      await this.#ui.settle();
      this.#ui.answer("y");
      await this.#ui.settle();
      if (this.#ui.transport.size > 0) continue;
      if (!this.#server.agent.isWaiting && !this.#ui.isBusy) return;
      this.#server.agent.step("end");
      await this.#ui.settle();
    }
  }

  /**
   * Each message is somewhere on the screen, or in the input, of which the
   * screen has the first line only while a question is open.
   */
  #checkShown(after: string): void {
    this.#log.push(after);
    const all = this.#ui.lines.join("\n");
    const { text } = this.#ui.chat.composer;
    const lost = this.#sent.filter((one) => !`${all}\n${text}`.includes(one));
    expect(lost, `${this.#log.join(" ")}\n${all}`).toEqual([]);
    const twice = this.#sent.filter((each) => text.split(each).length > 2);
    expect(twice, `${this.#log.join(" ")}\n${all}`).toEqual([]);
  }

  /**
   * Nothing waits any more: each message is answered, or in the input, or the
   * chat has said what became of it.
   */
  #checkDone(): void {
    const { lines, isBusy } = this.#ui;
    const all = lines.join("\n");
    expect(isBusy, `${this.#log.join(" ")}\n${all}`).toBe(false);
    const open = this.#sent.filter((text) => {
      const fate = this.#fateOf(text);
      if (fate) seen.add(fate);
      return fate === undefined;
    });
    expect(open, `${this.#log.join(" ")}\n${all}`).toEqual([]);
  }

  #fateOf(text: string): "answered" | "ended" | "input" | "told" | undefined {
    const { lines, chat } = this.#ui;
    if (chat.composer.text.includes(text)) return "input";
    const at = lines.findLastIndex((line) => line.includes(text));
    const line = lines[at] ?? "";
    if (/^(● | {2}).*re /.test(line)) return "answered";
    if (/^· (waits in|on its way)/.test(line)) return "told";
    const isEnded = lines.slice(at).some((later) => ENDED.test(later));
    return isEnded ? "ended" : undefined;
  }
}

/** What is said of a turn without an answer. */
const ENDED =
  /^canceled|^failed: it broke|^· The server stopped|^· (the turn (goes on|is being canceled)|a question waits)/;
