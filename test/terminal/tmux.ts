import { execFile, spawnSync } from "node:child_process";
import { join } from "node:path";
import { setTimeout as sleep } from "node:timers/promises";
import { promisify } from "node:util";
import { temporaryDirectory } from "@devtool/internal/testing/temporary-directory";

const run = promisify(execFile);

/** Whether tmux is on this machine. */
export const HAS_TMUX: boolean = spawnSync("tmux", ["-V"]).status === 0;

/**
 * Time after which a text that is not shown never will be, however busy the
 * machine is.
 */
const PATIENCE_MS = 150_000;

/** Options of a terminal. */
export interface TmuxOptions {
  readonly env: Readonly<Record<string, string>>;
  readonly columns?: number;
  readonly rows?: number;
  /** The directory of the shell. Default: that of this process. */
  readonly directory?: string;
}

/**
 * A shell in a terminal of its own, played by tmux: keys go in, and what a
 * person would see comes out.
 */
export class Tmux implements AsyncDisposable {
  readonly #directory = temporaryDirectory();

  /** Opens a terminal with a shell whose prompt is `$ `. */
  static async open({
    env,
    columns = 100,
    rows = 40,
    directory = process.cwd(),
  }: TmuxOptions): Promise<Tmux> {
    const tmux = new Tmux();
    const given = Object.entries({
      PS1: "$ ",
      ENV: "",
      HISTFILE: "",
      ...env,
    }).map(([name, value]) => `${name}=${value}`);
    const size = ["-x", String(columns), "-y", String(rows)];
    await tmux.#tmux(
      "-f",
      "/dev/null",
      "new-session",
      "-d",
      "-c",
      directory,
      ...size,
      "env",
      ...given,
      "sh",
      "-i",
    );
    await tmux.shows(/^\$$/m);
    return tmux;
  }

  /**
   * Types a text, and presses what stands behind it: `Enter`, `C-c`, `Escape`.
   */
  async type(text: string, ...keys: readonly string[]): Promise<void> {
    if (text !== "") await this.#tmux("send-keys", "-l", "--", text);
    if (keys.length > 0) await this.#tmux("send-keys", ...keys);
  }

  /** Pastes a text, marked as a paste when the program asked for that. */
  async paste(text: string): Promise<void> {
    await this.#tmux("set-buffer", "--", text);
    await this.#tmux("paste-buffer", "-p");
  }

  /** Gives the terminal another size. */
  async resize(columns: number, rows: number): Promise<void> {
    await this.#tmux(
      "resize-window",
      "-x",
      String(columns),
      "-y",
      String(rows),
    );
  }

  /** The rows of the screen as they are now, without trailing spaces. */
  async rows(): Promise<readonly string[]> {
    const { stdout } = await this.#tmux("capture-pane", "-p");
    return stdout.split("\n").map((row) => row.trimEnd());
  }

  /** The rows of the screen as they are now, with the sequences of colours. */
  async colouredRows(): Promise<readonly string[]> {
    const { stdout } = await this.#tmux("capture-pane", "-p", "-e");
    return stdout.split("\n");
  }

  /** All lines that the terminal has shown, without trailing spaces. */
  async screen(): Promise<string> {
    const { stdout } = await this.#tmux("capture-pane", "-p", "-J", "-S", "-");
    return stdout.replaceAll(/ +$/gm, "");
  }

  /** Whether the bell has rung. */
  async hasRung(): Promise<boolean> {
    const { stdout } = await this.#tmux(
      "display-message",
      "-p",
      "#{window_bell_flag}",
    );
    return stdout.trim() === "1";
  }

  /**
   * Waits until the terminal shows something, and returns all that it shows.
   */
  async shows(pattern: RegExp): Promise<string> {
    const deadline = performance.now() + PATIENCE_MS;
    for (;;) {
      const screen = await this.screen();
      if (pattern.test(screen)) return screen;
      if (performance.now() > deadline) {
        throw new Error(
          `the terminal does not show ${pattern}:\n${screen.trimEnd()}`,
        );
      }
      await sleep(20);
    }
  }

  async [Symbol.asyncDispose](): Promise<void> {
    await this.#tmux("kill-server").catch(() => undefined);
  }

  #tmux(...args: readonly string[]): Promise<{ readonly stdout: string }> {
    return run("tmux", ["-S", join(this.#directory, "socket"), ...args]);
  }
}
