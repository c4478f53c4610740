/**
 * Takes the picture of the terminal in README.md again, from a real run:
 * `npx -y pnpm@12 terminal-picture`. A server is killed at an open question and
 * starts again, and the question is answered.
 */
import { mkdtemp, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { fileURLToPath } from "node:url";
import Anser from "anser";
import { startServerProcess } from "../test/durability/crash/server-process.ts";
import { launch } from "../test/outer/browser.ts";
import { Tmux } from "../test/terminal/tmux.ts";

const main = fileURLToPath(
  new URL("../packages/cli/dist/main.js", import.meta.url),
);
const home = await mkdtemp(join(tmpdir(), "picture-"));
const place = { data: join(home, "data"), workspace: join(home, "shop") };
try {
  await takePicture(await play());
} finally {
  await rm(home, { recursive: true });
}

/** Plays the demo, and returns the lines that its terminal shows. */
async function play(): Promise<readonly string[]> {
  let server = await startServerProcess(place);
  const env = {
    PATH: process.env.PATH ?? "",
    HOME: home,
    TERM: "xterm-256color",
    DEVTOOL_DATA: place.data,
  };
  await using terminal = await Tmux.open({ env, columns: 84, rows: 34 });
  await terminal.type(
    `devtool() { ${process.execPath} ${main} "$@"; }; clear`,
    "Enter",
  );
  await terminal.type("devtool chat", "Enter");
  await terminal.shows(/^>$/m);
  await terminal.type("write limits.ts export const bodyMs = 30_000", "Enter");
  await terminal.shows(/^choose >$/m);
  await server.kill();
  server = await startServerProcess(place);
  await terminal.type("y", "Enter");
  await terminal.shows(
    /reconnected to[\s\S]*✓ write_file[\s\S]*^● Done\.[\s\S]*default\n>$/m,
  );
  const lines = await terminal.colouredRows();
  await server.stop();
  return lines;
}

/** Draws the lines as an emulator of a terminal does. */
async function takePicture(lines: readonly string[]): Promise<void> {
  const text = lines.join("\n").trimEnd().replaceAll(home, "~");
  const body = Anser.ansiToHtml(Anser.escapeForHtml(text));
  const browser = await launch();
  try {
    const page = await browser.newPage({ deviceScaleFactor: 2 });
    await page.setContent(
      `<pre style="display:inline-block;margin:0;padding:16px 20px;border-radius:8px;background:#14171a;color:#e6e8ea;font:14px/1.35 'DejaVu Sans Mono',monospace">${body}</pre>`,
    );
    const path = "docs/pictures/terminal-restart.png";
    await page.locator("pre").screenshot({ path, omitBackground: true });
  } finally {
    await browser.close();
  }
}
