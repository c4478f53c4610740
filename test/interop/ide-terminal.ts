import { readFileSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { setTimeout as sleep } from "node:timers/promises";
import { objectOrEmpty } from "@devtool/internal/json";
import type { Tmux } from "../terminal/tmux.ts";

/**
 * Types a line, and sends it once it is shown: else it counts as a paste. An
 * agent that has just ended a turn may miss it, so it is typed again.
 */
export async function say(tmux: Tmux, line: string): Promise<void> {
  const end = line.slice(-12);
  const isShown = async (): Promise<boolean> =>
    (await tmux.screen()).replaceAll(/\s/g, "").includes(squeezed(end));
  for (let round = 0; round < 20; round++) {
    await tmux.type("", "C-u");
    await tmux.type(line);
    for (let wait = 0; wait < 20 && !(await isShown()); wait++)
      await sleep(150);
    if (await isShown()) break;
  }
  await sleep(500);
  await tmux.type("", "Enter");
}

function squeezed(text: string): string {
  return text.replaceAll(/\s/g, "");
}

/**
 * Gives commands until the agent says that it is connected to an editor; with commands,
 * after it has said that it is not.
 */
export async function connected(
  tmux: Tmux,
  editor: string,
  ...commands: readonly string[]
): Promise<void> {
  const deadline = performance.now() + 100_000;
  for (;;) {
    for (const command of [...commands, "/ide status"]) {
      await say(tmux, command);
      await sleep(2000);
    }
    const screen = await tmux.screen();
    const lost = screen.lastIndexOf("Disconnected");
    const isLost = commands.length === 0 || lost >= 0;
    if (isLost && screen.lastIndexOf(`Connected to ${editor}`) > lost) return;
    if (performance.now() > deadline) throw new Error(screen);
  }
}

/** Turns the mode of editors on in an agent's settings. */
export function enableIde(home: string, name: string): void {
  const path = join(home, `.${name}/settings.json`);
  const settings = objectOrEmpty(JSON.parse(readFileSync(path, "utf8")));
  const ide = { enabled: true, hasSeenNudge: true };
  const tools = { approvalMode: "default" };
  writeFileSync(path, JSON.stringify({ ...settings, ide, tools }));
}
