import { PassThrough } from "node:stream";
import { type Instance, render, type SuspendTerminal } from "ink";
import type { Io } from "../io.ts";
import { screenSize } from "../render/gutter.ts";
import type { Paint } from "../render/style.ts";
import type { Terminal } from "../terminal/terminal.ts";
import { App, addedRows } from "./app.tsx";
import type { Screen } from "./screen.ts";
import type { ScreenStore } from "./screen-store.ts";

/** Draws a chat with Ink. The keys come from the terminal, and not from Ink. */
export class InkTerminal {
  readonly #terminal: Terminal;
  readonly #store: ScreenStore;
  readonly #instance: Instance;
  readonly #suspend = Promise.withResolvers<SuspendTerminal>();
  readonly #io: Io;
  /** What the terminal shows below the entries. */
  #drawn: Screen;
  /** The width in columns for which it was drawn. */
  #columns = 0;

  constructor(terminal: Terminal, store: ScreenStore, io: Io, paint: Paint) {
    this.#terminal = terminal;
    this.#store = store;
    this.#io = io;
    this.#drawn = store.snapshot();
    terminal.aroundStop = (stop) => void this.#lend(stop);
    const app = (
      <App
        store={store}
        paint={paint}
        onStart={this.#suspend.resolve}
        onResize={store.change}
      />
    );
    // Before Ink, which draws for the new size in a listener of its own.
    io.stdout.on("resize", this.#onResize);
    this.#instance = render(app, {
      stdout: io.stdout,
      stderr: io.stderr,
      stdin: new PassThrough(),
      interactive: true,
      exitOnCtrlC: false,
      patchConsole: false,
      onRender: () => {
        this.#drawn = store.snapshot();
        this.#columns = screenSize(io.stdout).columns ?? 0;
      },
    });
  }

  /** Gives the terminal to another program while some work is done. */
  async lend<T>(work: () => Promise<T>): Promise<T> {
    return await this.#lend(() => this.#terminal.lend(work));
  }

  /** Calls back once the terminal has drawn what the chat shows now. */
  async whenDrawn(callback: () => void): Promise<void> {
    await this.#instance.waitUntilRenderFlush();
    this.#terminal.whenDrawn(callback);
  }

  /** Clears the screen. The chat goes on at its top. */
  clear(): void {
    this.#instance.clear();
    this.#terminal.out.write("\u001b[2J\u001b[H");
  }

  /** Draws the end, and leaves the terminal to the next program. */
  async end(): Promise<void> {
    await this.#instance.waitUntilRenderFlush();
    this.#io.stdout.off("resize", this.#onResize);
    this.#instance.unmount();
    await this.#instance.waitUntilExit();
  }

  /**
   * Erases what a narrower terminal has wrapped. Ink then erases as many rows
   * as it has drawn.
   */
  readonly #onResize = (): void => {
    if (this.#store.isHeld) return;
    const { columns = this.#columns } = screenSize(this.#io.stdout);
    const added = wrapsAgain(this.#io.env)
      ? addedRows(this.#drawn, this.#columns, columns)
      : 0;
    if (added > 0) this.#terminal.out.write(`\u001b[${added}A\r\u001b[J`);
  };

  async #lend<T>(work: () => Promise<T>): Promise<T> {
    const suspend = await this.#suspend.promise;
    return this.#store.hold(async () => {
      const done = Promise.withResolvers<T>();
      // Its failure is handled below, after the chat was drawn again.
      done.promise.catch(() => undefined);
      await suspend(() => work().then(done.resolve, done.reject));
      return done.promise;
    });
  }
}

/** Whether the terminal wraps what it shows again when its width changes. */
function wrapsAgain({ TERM, TMUX, XTERM_VERSION, STY }: Io["env"]): boolean {
  if (TMUX !== undefined) return true;
  return TERM !== "linux" && XTERM_VERSION === undefined && STY === undefined;
}
