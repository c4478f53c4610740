import { PassThrough } from "node:stream";
import { type Instance, render, type SuspendTerminal } from "ink";
import type { Io } from "../io.ts";
import type { Paint } from "../render/style.ts";
import type { Terminal } from "../terminal/terminal.ts";
import { App } from "./app.tsx";
import type { ScreenStore } from "./screen-store.ts";

/** Draws a chat with Ink. The keys come from the terminal, and not from Ink. */
export class InkTerminal {
  readonly #terminal: Terminal;
  readonly #store: ScreenStore;
  readonly #instance: Instance;
  readonly #suspend = Promise.withResolvers<SuspendTerminal>();

  constructor(terminal: Terminal, store: ScreenStore, io: Io, paint: Paint) {
    this.#terminal = terminal;
    this.#store = store;
    terminal.aroundStop = (stop) => void this.#lend(stop);
    const app = (
      <App
        store={store}
        paint={paint}
        onStart={this.#suspend.resolve}
        onResize={store.change}
      />
    );
    this.#instance = render(app, {
      stdout: io.stdout,
      stderr: io.stderr,
      stdin: new PassThrough(),
      interactive: true,
      exitOnCtrlC: false,
      patchConsole: false,
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
    this.#instance.unmount();
    await this.#instance.waitUntilExit();
  }

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
