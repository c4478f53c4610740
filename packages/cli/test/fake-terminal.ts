import { EventEmitter } from "node:events";
import { PassThrough } from "node:stream";
import type { Io } from "../src/io.ts";

/** The key Ctrl-C. */
export const CTRL_C = "\u0003";

/**
 * Texts that a terminal shows, one behind the other, and the keys that are
 * pressed when they are shown.
 */
export type Dialog = readonly (readonly [shown: string, keys?: string])[];

/** The status request (DSR) that a terminal answers, and the answer. */
const STATUS_REQUEST = "\u001b[5n";
const STATUS_REPORT = "\u001b[0n";

/**
 * A terminal with a person at it, for commands that run in the process of the
 * test. Like a real one it answers status requests in order with the keys.
 */
export class FakeTerminal {
  readonly io: Io;
  /** All that was shown, errors too. */
  said = "";
  readonly #stdin = new PassThrough();
  readonly #keys = new EventEmitter();
  readonly #shown = new EventEmitter();
  /** Where the output begins that was not looked at. */
  #seen = 0;

  constructor(env: Io["env"] = { NO_COLOR: "1" }) {
    const stdout = new PassThrough();
    const stderr = new PassThrough();
    for (const stream of [stdout, stderr]) {
      stream.on("data", (chunk) => {
        this.said += chunk;
        for (const _request of String(chunk).split(STATUS_REQUEST).slice(1)) {
          this.#stdin.write(STATUS_REPORT);
        }
        this.#shown.emit("shown");
      });
    }
    this.io = {
      stdin: this.#stdin,
      stdout,
      stderr,
      env,
      interactive: true,
      onInterrupt: (listener) => {
        this.#keys.on("interrupt", listener);
        return () => this.#keys.off("interrupt", listener);
      },
      interrupt: () => void this.#keys.emit("interrupt"),
    };
  }

  /** Waits until a text is shown, behind the one that was waited for before. */
  async shows(text: string): Promise<void> {
    while (!this.said.includes(text, this.#seen)) {
      await new Promise((resolve) => this.#shown.once("shown", resolve));
    }
    this.#seen = this.said.indexOf(text, this.#seen) + text.length;
    // A person reacts after all that is drawn with it.
    await new Promise((resolve) => setImmediate(resolve));
  }

  /** Presses keys; `\r` is Enter, and `\u0003` Ctrl-C. */
  press(keys: string): void {
    for (const key of keys) {
      if (key === CTRL_C) {
        this.interrupt();
      } else {
        this.#stdin.write(key);
      }
    }
  }

  /** Plays a dialog, and returns when its last keys are pressed. */
  async play(...dialog: Dialog): Promise<void> {
    for (const [shown, keys = ""] of dialog) {
      await this.shows(shown);
      this.press(keys);
    }
  }

  /**
   * Sends bytes at once, as a terminal does with a paste that it cannot mark.
   */
  send(bytes: string): void {
    this.#stdin.write(bytes);
  }

  /** Pastes a text, marked as such. */
  paste(text: string): void {
    this.#stdin.write(`\u001b[200~${text}\u001b[201~`);
  }

  /** Presses Ctrl-C. */
  interrupt(): void {
    this.#keys.emit("interrupt");
  }

  /** Hangs up. */
  end(): void {
    this.#stdin.end();
  }
}
