import { type ChildProcess, execFileSync, spawn } from "node:child_process";
import { once } from "node:events";
import { existsSync, mkdirSync } from "node:fs";
import { join } from "node:path";
import { fileURLToPath } from "node:url";
import { putFile } from "@devtool/internal/testing/files";
import { temporaryDirectory } from "@devtool/internal/testing/temporary-directory";
import type { Browser, Locator, Page } from "playwright-core";
import { freePort } from "../free-port.ts";
import { CHROMIUM, launch } from "../outer/browser.ts";

const PROGRAM = fileURLToPath(
  new URL(
    "../../peers/code-server/node_modules/code-server/out/node/entry.js",
    import.meta.url,
  ),
);
const EXTENSION = fileURLToPath(
  new URL("../../editors/vscode/dist/devtool.vsix", import.meta.url),
);

/** Why VS Code cannot be run here. Undefined if it can. */
export const VS_CODE_MISSING: string | undefined = !existsSync(PROGRAM)
  ? "code-server is not here: run npx -y pnpm@12 install:peers code-server"
  : CHROMIUM === undefined
    ? "Chromium is not here"
    : undefined;

/** How long VS Code may take to show something, in milliseconds. */
const PATIENCE_MS = 90_000;

/** What VS Code is started with. */
export interface VsCodeOptions {
  readonly workspace: string;
  /** The file of the extension. Default: ours. */
  readonly extension?: string;
  readonly env?: Readonly<Record<string, string>>;
  readonly settings?: Readonly<Record<string, unknown>>;
}

/** A window of a real VS Code with our extension, in a browser. */
export class VsCode implements AsyncDisposable {
  readonly page: Page;
  /** The home and the directory for temporary files of all its programs. */
  readonly home: string;
  readonly temporary: string;
  readonly #browser: Browser;
  readonly #server: ChildProcess;

  private constructor(
    page: Page,
    home: string,
    programs: { readonly browser: Browser; readonly server: ChildProcess },
  ) {
    this.page = page;
    this.home = home;
    this.temporary = join(home, "tmp");
    this.#browser = programs.browser;
    this.#server = programs.server;
  }

  /** Installs the extension from its file and opens a window. */
  static async open({
    workspace,
    extension = EXTENSION,
    env = {},
    settings = {},
  }: VsCodeOptions): Promise<VsCode> {
    const home = temporaryDirectory();
    mkdirSync(join(home, "tmp"));
    putFile(
      home,
      "data/User/settings.json",
      JSON.stringify({ ...QUIET, ...settings }),
    );
    const surroundings = {
      PATH: process.env.PATH,
      SHELL: "/bin/bash",
      HOME: home,
      TMPDIR: join(home, "tmp"),
      ...env,
    };
    const places = [
      ...["--user-data-dir", join(home, "data")],
      ...["--extensions-dir", join(home, "extensions")],
    ];
    execFileSync(
      process.execPath,
      [PROGRAM, ...places, "--install-extension", extension],
      { env: surroundings, stdio: "pipe" },
    );
    const port = await freePort();
    const address = `127.0.0.1:${port}`;
    const server = spawn(
      process.execPath,
      [
        ...[PROGRAM, ...places, "--auth", "none", "--bind-addr", address],
        ...["--disable-telemetry", "--disable-update-check", workspace],
      ],
      { env: surroundings, stdio: ["ignore", "pipe", "ignore"] },
    );
    await once(server.stdout, "data");
    const browser = await launch();
    const page = await browser.newPage({
      viewport: { width: 1280, height: 800 },
    });
    page.setDefaultTimeout(PATIENCE_MS);
    const code = new VsCode(page, home, { browser, server });
    await code.#load(`http://${address}/`);
    return code;
  }

  /** Opens a file of the workspace by its name. */
  async openFile(name: string): Promise<void> {
    await this.page.getByRole("treeitem", { name }).first().dblclick();
    await this.tab(name).waitFor();
  }

  /** The tab with a title. */
  tab(title: string | RegExp): Locator {
    return this.page.getByRole("tab", { name: title });
  }

  /** The row of a question in the view of sessions. */
  question(title: RegExp): Locator {
    return this.page.getByRole("treeitem", { name: title, level: 2 });
  }

  /** Presses a button in the title of the editor that is shown. */
  async press(name: "Accept" | "Reject" | "Other Answers…"): Promise<void> {
    await this.page
      .locator(".editor-actions")
      .getByRole("button", { name, exact: false })
      .first()
      .click();
  }

  /** Runs a command by its name in the palette. */
  async run(command: string): Promise<void> {
    await this.page.keyboard.press("F1");
    const input = this.page.locator(".quick-input-widget input").first();
    await input.fill(`>${command}`);
    await this.page
      .locator(".quick-input-list .monaco-list-row")
      .filter({ hasText: command })
      .first()
      .click();
  }

  /** Types over the first line of what can be changed. */
  async changeFirstLine(text: string): Promise<void> {
    await this.page
      .locator(".editor.modified .view-line")
      .first()
      .click({ position: { x: 3, y: 5 } });
    await this.page.keyboard.press("Home");
    await this.page.keyboard.press("Shift+End");
    await this.page.keyboard.type(text);
  }

  /** Takes a picture, where `DEVTOOL_PICTURES` names a directory. */
  async picture(name: string): Promise<void> {
    const directory = process.env.DEVTOOL_PICTURES;
    if (directory === undefined) return;
    await this.page.screenshot({ path: join(directory, `${name}.png`) });
  }

  async [Symbol.asyncDispose](): Promise<void> {
    await this.#browser.close();
    this.#server.kill("SIGTERM");
    if (this.#server.exitCode === null) await once(this.#server, "exit");
  }

  async #load(url: string): Promise<void> {
    await this.page.goto(url);
    await this.page.locator(".monaco-workbench").waitFor();
  }
}

/** Settings without which it shows what no test wants. */
const QUIET: Readonly<Record<string, unknown>> = {
  "workbench.startupEditor": "none",
  "security.workspace.trust.startupPrompt": "never",
  "telemetry.telemetryLevel": "off",
  "chat.disableAIFeatures": true,
  "workbench.secondarySideBar.defaultVisibility": "hidden",
  "git.enabled": false,
  "remote.autoForwardPorts": false,
  "editor.autoClosingBrackets": "never",
};
