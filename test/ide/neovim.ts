import { execFile, spawn, spawnSync } from "node:child_process";
import { once } from "node:events";
import { join } from "node:path";
import { fileURLToPath } from "node:url";
import { promisify } from "node:util";
import { objectOrEmpty } from "@devtool/internal/json";
import { temporaryDirectory } from "@devtool/internal/testing/temporary-directory";

const run = promisify(execFile);

/** Whether Neovim is on this machine. */
export const HAS_NEOVIM: boolean =
  spawnSync("nvim", ["--version"]).status === 0;
if (!HAS_NEOVIM) console.info("skipped: nvim is not in PATH");

/** The plugin of this repository. */
export const PLUGIN: string = fileURLToPath(
  new URL("../../editors/nvim", import.meta.url),
);

/** The command by which a companion is started, as it is built. */
export const SERVE: readonly string[] = [
  process.execPath,
  fileURLToPath(new URL("../../packages/cli/dist/main.js", import.meta.url)),
  "ide",
  "serve",
];

/** What a Neovim is started with. */
export interface NeovimOptions {
  readonly home: string;
  readonly workspace: string;
  /** The directory for temporary files. Default: `tmp` in the home. */
  readonly tmp?: string;
  /** Default: that of the build. */
  readonly command?: readonly string[];
}

/** A real Neovim without a terminal, whose user is a test. */
export class Neovim implements AsyncDisposable {
  readonly pid: number;
  readonly #socket: string;
  readonly #process: ReturnType<typeof spawn>;

  private constructor(socket: string, process: ReturnType<typeof spawn>) {
    this.#socket = socket;
    this.#process = process;
    this.pid = process.pid ?? 0;
  }

  /** Starts it with the plugin, and waits until it answers. */
  static async start(options: NeovimOptions): Promise<Neovim> {
    const { home, workspace, command = SERVE } = options;
    const { tmp = join(home, "tmp") } = options;
    const socket = join(temporaryDirectory(), "s");
    const settings = `let g:devtool = #{ command: ${JSON.stringify(command)} }`;
    const args = ["--headless", "-u", "NORC", "-i", "NONE", "-n"];
    const child = spawn(
      "nvim",
      [...args, "--cmd", `set rtp^=${PLUGIN}`, "--cmd", settings].concat(
        ["--listen", socket],
        ["-c", "DevtoolStart"],
      ),
      {
        cwd: workspace,
        stdio: "ignore",
        env: { PATH: process.env.PATH, HOME: home, TMPDIR: tmp },
      },
    );
    const neovim = new Neovim(socket, child);
    await neovim.shows("vim.v.vim_did_enter", /^1$/);
    return neovim;
  }

  /** Waits until its companion listens. */
  async listens(): Promise<void> {
    await this.shows("require('devtool').status()", /listens at port/);
  }

  /** Returns the value of an expression in Lua. */
  async lua(expression: string): Promise<unknown> {
    const quoted = expression.replaceAll("'", "''");
    return JSON.parse(
      await this.#remote("--remote-expr", `json_encode(luaeval('${quoted}'))`),
    );
  }

  /** The variables by which agents in its terminals find its companion. */
  async environment(): Promise<Record<string, string>> {
    const all = objectOrEmpty(await this.lua("vim.fn.environ()"));
    return Object.fromEntries(
      Object.entries(all)
        .filter(([name]) => /_IDE_|^CLAUDE_CODE_/.test(name))
        .map(([name, value]) => [name, String(value)]),
    );
  }

  /** Presses keys, as the notation `<CR>` names them. */
  async press(keys: string): Promise<void> {
    await this.#remote("--remote-send", keys);
  }

  /** Waits until an expression in Lua has a value, as JSON, that matches. */
  async shows(expression: string, pattern: RegExp): Promise<string> {
    let shown: unknown;
    for (let round = 0; round < 600; round++) {
      shown = await this.lua(expression).catch((reason) => reason);
      const text = JSON.stringify(shown) ?? "";
      if (pattern.test(text)) return text;
      await new Promise((resolve) => setTimeout(resolve, 50));
    }
    throw new Error(`${expression} is never ${pattern}: ${shown}`);
  }

  /** Waits for the diff of a file, and stands in what is proposed. */
  async diffOf(path: string): Promise<void> {
    await this.shows("vim.fn.bufname()", new RegExp(`proposed/\\d+${path}`));
  }

  /** Waits until no diff is shown. */
  async showsNone(): Promise<void> {
    await this.shows("vim.fn.tabpagenr('$')", /^1$/);
  }

  /** Sends it a signal. */
  signal(name: NodeJS.Signals): void {
    this.#process.kill(name);
  }

  async [Symbol.asyncDispose](): Promise<void> {
    if (this.#process.exitCode !== null || this.#process.signalCode) return;
    const ended = once(this.#process, "exit");
    await this.press("<C-\\><C-N>:qa!<CR>").catch(() => this.#process.kill());
    await ended;
  }

  async #remote(flag: string, text: string): Promise<string> {
    const args = ["--server", this.#socket, flag, text];
    const { stdout, stderr } = await run("nvim", args, { timeout: 60_000 });
    // Neovim 0.7 prints values to standard error.
    return stdout === "" ? stderr : stdout;
  }
}
