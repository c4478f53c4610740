import { setImmediate as turn } from "node:timers/promises";
import type { Transport } from "@connectrpc/connect";
import { createDevtoolClient } from "@devtool/client";
import { Role, TaskState } from "@devtool/schema";
import {
  createServer,
  type DevtoolServer,
  type ServerOptions,
} from "@devtool/server";
import type { Agent, AgentEvent, Turn } from "@devtool/server/agent";
import { MemoryTaskStore } from "@devtool/server/testing";
import { Chat } from "../src/chat/chat.ts";
import { ChatTasks } from "../src/chat/chat-tasks.ts";
import { runLocal } from "../src/chat/local-actions.ts";
import { EMPTY_SCREEN, type Screen, screenOf } from "../src/chat/screen.ts";
import { ScreenStore } from "../src/chat/screen-store.ts";
import { GatedTransport } from "./gated-transport.ts";
import { ManualTimers } from "./manual-timers.ts";

/** What an agent does next. */
export type Step = "say" | "ask" | "end" | "fail";

/**
 * An agent that waits for the test before each step. At the end of a turn it
 * repeats the user's words since the turn before.
 */
export class SteppedAgent implements Agent {
  readonly about = { name: "Stepped", description: "Waits for its test." };
  readonly #waiting = new Set<(step: Step) => void>();

  /** Returns whether a turn waits for its next step. */
  get isWaiting(): boolean {
    return this.#waiting.size > 0;
  }

  /** Takes a step in the turn that has waited longest. */
  step(step: Step): void {
    const [next] = this.#waiting;
    if (next) this.#waiting.delete(next);
    next?.(step);
  }

  readonly open: Agent["open"] = () => ({
    createExecutor: () => ({
      takesSteering: true,
      execute: (turn: Turn, signal: AbortSignal) => this.#work(turn, signal),
    }),
  });

  async *#work(turn: Turn, signal: AbortSignal): AsyncIterable<AgentEvent> {
    for (let count = 0; ; count++) {
      const step = await this.#nextStep(signal);
      turn.takeSteering();
      switch (step) {
        case "say":
          yield { case: "text", value: `piece ${count}. ` };
          break;
        case "ask": {
          const args = { count: Number(turn.task.sequence) };
          const run = (): string => "done";
          const call = { toolName: "act", args, ask: "May I?", run };
          yield* turn.call(call, signal);
          break;
        }
        case "fail":
          yield {
            case: "end",
            value: { state: TaskState.FAILED, text: "it broke" },
          };
          return;
        case "end":
          yield { case: "text", value: `re ${wordsOf(turn)}.` };
          return;
      }
    }
  }

  async #nextStep(signal: AbortSignal): Promise<Step> {
    const { promise, resolve, reject } = Promise.withResolvers<Step>();
    const abort = (): void => {
      this.#waiting.delete(resolve);
      reject(signal.reason);
    };
    this.#waiting.add(resolve);
    signal.addEventListener("abort", abort, { once: true });
    try {
      return await promise;
    } finally {
      signal.removeEventListener("abort", abort);
    }
  }
}

/** Returns what the user has said since the last answer. */
function wordsOf({ task: { history } }: Turn): string {
  const texts = history.flatMap(({ role, parts }) =>
    parts.flatMap(({ content }) =>
      content.case === "text" ? [{ role, text: content.value }] : [],
    ),
  );
  const answered = texts.findLastIndex(
    ({ role, text }) => role === Role.AGENT && text.includes("re "),
  );
  return texts
    .slice(answered + 1)
    .flatMap(({ role, text }) => (role === Role.USER ? [text] : []))
    .join(" ")
    .replaceAll(/\s+/g, " ");
}

/** A server that keeps its tasks, so that it can be stopped and started again. */
export class StoppableServer implements AsyncDisposable {
  readonly agent = new SteppedAgent();
  readonly #options: Omit<ServerOptions, "agents">;
  #running: Promise<DevtoolServer>;
  #transport: Promise<Transport>;

  constructor(workspace: string) {
    const store = new MemoryTaskStore();
    this.#options = {
      workspace,
      openStore: () => Promise.resolve(store),
      drainMs: 0,
    };
    this.#running = this.#open();
    this.#transport = this.#connect();
  }

  /** The transport to the server that runs now. */
  get transport(): Promise<Transport> {
    return this.#transport;
  }

  async stop(): Promise<void> {
    await (await this.#running).close();
  }

  start(): void {
    this.#running = this.#open();
    this.#transport = this.#connect();
  }

  async [Symbol.asyncDispose](): Promise<void> {
    await this.stop();
  }

  #open(): Promise<DevtoolServer> {
    const agents = { stepped: this.agent };
    return createServer({ agents, ...this.#options });
  }

  async #connect(): Promise<Transport> {
    return (await this.#running).transport();
  }
}

/**
 * The chat without its terminal, at a real server in this process, over a
 * connection on which nothing arrives before the test lets it.
 */
export class ChatUnderTest implements Disposable {
  readonly transport: GatedTransport;
  readonly chat: Chat;
  readonly #server: StoppableServer;
  readonly #pass: (ms: number) => void;
  readonly #timers = new ManualTimers();
  #screen: Screen = EMPTY_SCREEN;

  /** @param pass lets time pass for `setTimeout` */
  constructor(server: StoppableServer, pass: (ms: number) => void) {
    this.#server = server;
    this.#pass = pass;
    this.transport = new GatedTransport(() => server.transport);
    const client = createDevtoolClient(this.transport);
    const store = new ScreenStore({
      draw: () => this.#draw(),
      first: EMPTY_SCREEN,
    });
    const onChange = store.change;
    const tasks = new ChatTasks({
      client,
      session: {},
      operatorMode: undefined,
      onChange,
      onProblem: (reason) => this.chat.printout.tellProblem(reason),
    });
    const actions = {
      client,
      workspace: "",
      operatorMode: undefined,
      write: noTerminal,
      clearScreen: noTerminal,
      onChange,
    };
    this.chat = new Chat({
      tasks,
      history: { messages: [], add: () => Promise.resolve() },
      timers: this.#timers,
      workspace: undefined,
      approve: undefined,
      edit: noTerminal,
      editArguments: noTerminal,
      style: () => STYLE,
      isServerGone: () => this.transport.isGone,
      complete: () => Promise.resolve([]),
      runLocal: (line) => runLocal(this.chat, line, actions),
      nextMode: noTerminal,
      onChange,
    });
    store.begin();
  }

  /** All lines that the user sees, or could scroll back to. */
  get lines(): readonly string[] {
    const { entries, live, question, queue, input } = this.#screen;
    return [
      ...entries.flatMap(({ lines }) => lines),
      ...live,
      ...question,
      ...queue,
      // Of long texts the screen has the beginning, and of many the number.
      ...this.chat.tasks.unsent,
      ...this.chat.outbox.texts.map((text) => `· queued: ${text}`),
      ...input.lines,
    ];
  }

  /** Whether the chat shows that the agent works, or asks something. */
  get isBusy(): boolean {
    const { activity } = this.#screen;
    return activity !== undefined || this.chat.asking.call !== undefined;
  }

  /** Presses keys: a text, then a key by its name. */
  press(text: string, name = ""): void {
    if (text !== "") this.chat.take({ case: "paste", text });
    if (name !== "") {
      this.chat.take({ case: "key", text: "", key: KEYS[name] ?? { name } });
    }
  }

  /** Answers a question as soon as it takes an answer. */
  answer(key: string): void {
    if (!this.chat.asking.call) return;
    this.chat.asking.keys.drawn();
    this.#timers.pass(1000);
    this.chat.take({ case: "key", text: key, key: { name: key } });
    this.#timers.pass(1000);
  }

  /** Lets everything happen that waits for no step of the test. */
  async settle(): Promise<void> {
    // Calls wait for a server that starts, which takes as long as its files do.
    await this.#server.transport;
    let before = "";
    for (let same = 0; same < 4; ) {
      await turn();
      this.#pass(1);
      const now = `${this.transport.size} ${this.#server.agent.isWaiting} ${this.lines.join("\n")}`;
      same = now === before ? same + 1 : 0;
      before = now;
    }
  }

  [Symbol.dispose](): void {
    this.chat.tasks.close();
    this.transport.cut();
  }

  #draw(): Screen {
    this.chat.refresh();
    this.#screen = screenOf(this.chat, STATUS, SIZE, STYLE);
    return this.#screen;
  }
}

const KEYS: Readonly<Record<string, { name: string; ctrl?: true }>> = {
  steer: { name: "t", ctrl: true },
};
const SIZE = { columns: 200, rows: 200 };
const STYLE = {
  paint: (_look: string, text: string): string => text,
  columns: SIZE.columns,
};
const STATUS = {
  mode: "",
  model: "",
  agent: "",
  workspace: "",
  branch: "",
  editor: "",
  sentTokens: 0n,
  contextLeft: undefined,
};

function noTerminal(): never {
  throw new Error("this chat has no terminal");
}
