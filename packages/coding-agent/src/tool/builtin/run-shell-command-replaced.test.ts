import { existsSync, mkdirSync, renameSync, rmdirSync, rmSync } from "node:fs";
import { join } from "node:path";
import { temporaryDirectory } from "@devtool/internal/testing/temporary-directory";
import { findSandbox, type Sandbox } from "@devtool/sandbox";
import { afterEach, beforeEach, describe, expect, it } from "vitest";
import type { ToolEvent } from "../tool.ts";
import { textResult } from "../tool-result.ts";
import { Workspace } from "../workspace.ts";
import {
  BackgroundProcesses,
  type BackgroundState,
} from "./background-processes.ts";
import { runShellCommandTool } from "./run-shell-command.ts";

const PATH = "/usr/local/bin:/usr/bin:/bin";
const { signal } = new AbortController();
const sandbox = await findSandbox("auto", { path: PATH }, signal);
const why = sandbox.confines ? "" : ` (skipped: ${sandbox.notice})`;
const REFUSAL =
  '.github/hooks" was renamed or replaced while the command was starting';

describe.skipIf(!sandbox.confines)(
  `when another server removes a placeholder while a command starts${why}`,
  () => {
    let root: string;
    let workspace: Workspace;
    let background: BackgroundProcesses;
    beforeEach(() => {
      root = temporaryDirectory();
      mkdirSync(join(root, ".github"));
      workspace = new Workspace(root);
      background = new BackgroundProcesses({ nextId: () => "bg-1" });
    });
    afterEach(async () => {
      await background[Symbol.asyncDispose]();
      workspace[Symbol.dispose]();
    });

    it("starts the command again, since nothing of it has run", async () => {
      const events = await run({ command: "echo ran >>count; cat count" }, 1);
      expect(events.at(-1)).toEqual(textResult("ran\n"));
    });

    it("gives up when it is removed again", async () => {
      const events = await run({ command: "echo ran >>count" }, 2);
      expect(events.at(-1)).toMatchObject({
        value: { value: { message: expect.stringContaining(REFUSAL) } },
      });
      expect(existsSync(join(root, "count"))).toBe(false);
    });

    it("starts a background process again", async () => {
      const events = await run(
        { command: "echo ran >>count; cat count", background: true },
        1,
      );
      expect(events[0]).toMatchObject({
        case: "process",
        value: { sandbox: "bwrap" },
      });
      expect(await endInBackground()).toMatchObject({
        output: "ran\n",
        end: { exitCode: 0 },
      });
    });

    it("gives a background process up when it is removed again", async () => {
      await run({ command: "echo ran >>count", background: true }, 2);
      const { end } = await endInBackground();
      expect(end?.error?.message).toContain(REFUSAL);
      expect(existsSync(join(root, "count"))).toBe(false);
    });

    it("S2: does not run in another directory that was in the place of the workspace for a moment", async () => {
      const other = `${root}-other`;
      mkdirSync(join(other, ".github"), { recursive: true });
      const exchange = (): void => {
        renameSync(root, `${root}-moved`);
        renameSync(other, root);
        renameSync(`${root}-moved`, other);
      };
      const exchanging: Sandbox = {
        ...sandbox,
        command: async (request) => {
          const command = await sandbox.command(request);
          exchange();
          const check = async (pid: number): Promise<void> => {
            await command.check?.(pid);
            exchange();
          };
          return { ...command, check };
        },
      };
      const events = await run({ command: "touch made" }, 0, exchanging);
      expect(events.at(-1)).toMatchObject({
        value: {
          value: { message: expect.stringContaining("was moved since") },
        },
      });
      const places = [root, other].map((path) => join(path, "made"));
      expect(places.filter((path) => existsSync(path))).toEqual([]);
      rmSync(other, { recursive: true });
    });

    /**
     * Runs a command in a sandbox whose first processes lose a placeholder
     * while they start.
     */
    async function run(
      args: { command: string; background?: true },
      losses: number,
      losing = losingPlaceholder(losses),
    ): Promise<ToolEvent[]> {
      const tool = runShellCommandTool(workspace, {
        environment: { PATH, HOME: root },
        timeoutMs: 60_000,
        maxOutputLength: 4000,
        sandbox: () => Promise.resolve(losing),
        background,
      });
      const invocation = await tool.prepare(args, signal);
      return Array.fromAsync(invocation.execute(signal));
    }

    function losingPlaceholder(losses: number): Sandbox {
      let left = losses;
      return {
        ...sandbox,
        command: async (request) => {
          const command = await sandbox.command(request);
          const check = async (pid: number): Promise<void> => {
            await command.check?.(pid);
            if (left-- > 0) rmdirSync(join(root, ".github/hooks"));
            await command.check?.(pid);
          };
          return { ...command, check };
        },
      };
    }

    async function endInBackground(): Promise<BackgroundState> {
      for (;;) {
        const state = await background.read("bg-1", 5000, signal);
        if (state.end) return state;
      }
    }
  },
);
