import { existsSync, mkdirSync, readdirSync } from "node:fs";
import { basename, join } from "node:path";
import { fileText } from "@devtool/internal/testing/files";
import { temporaryDirectory } from "@devtool/internal/testing/temporary-directory";
import { beforeEach, describe, expect, it } from "vitest";
import { findSandbox } from "./find-sandbox.ts";
import {
  type ProcessEnd,
  type RunningProcess,
  startProcess,
} from "./start-process.ts";

const PATH = "/usr/local/bin:/usr/bin:/bin";
const { signal } = new AbortController();
const sandbox = await findSandbox("auto", { path: PATH }, signal);
const why = sandbox.confines ? "" : ` (skipped: ${sandbox.notice})`;

describe.skipIf(!sandbox.confines)(
  `settings that a workspace does not have (U3)${why}`,
  () => {
    let workspace: string;
    beforeEach(() => {
      workspace = temporaryDirectory();
    });

    it("are not shown by a command, nor to anybody else while it runs", async () => {
      mkdirSync(join(workspace, "src"));
      const { output, end } = await run("touch a.txt; ls -A");
      expect(output).toBe("a.txt\nsrc\n");
      expect(end.taken).toBeUndefined();
    });

    it.each([
      "mkdir .vscode; echo evil > .vscode/tasks.json",
      "mkdir x; echo evil > x/tasks.json; mv x .vscode",
      "mkdir x; ln -s x .vscode",
      "echo evil > x; ln x .mcp.json",
      "echo evil > .mcp.json; chmod 0 .mcp.json",
      "mkdir .claude; echo evil > .claude/settings.json; chmod 555 .claude; chmod 555 .",
      "mkdir -p .github/hooks; touch .github/hooks/evil.json; chmod 0 .",
      "mkfifo .devtool",
      "mkdir x; echo evil > x/tasks.json; touch -d '2001-03-04 05:06:08 UTC' x; mv x .vscode",
      "(sleep 0.2; mkdir .zed) & wait",
    ])("are renamed when a command makes one: %s", async (script) => {
      const { end } = await run(`${script}; exit 0`);
      const [place] = end.taken ?? [];
      expect(place?.keptAs).toBe(`${place?.path}.replaced-1`);
      expect(existsSync(place?.path ?? "/")).toBe(false);
      expect(readdirSync(workspace)).toContain(
        `${place?.path.slice(workspace.length + 1)}.replaced-1`,
      );
    });

    it("are renamed while the command runs, and one that makes them again and again is ended", async () => {
      const { end } = await run(
        "for i in $(seq 1000); do mkdir -p .vscode; echo evil > .vscode/tasks.json; sleep 0.02; done; touch done",
      );
      expect(end.taken?.length).toBe(3);
      expect(existsSync(join(workspace, ".vscode"))).toBe(false);
      expect(existsSync(join(workspace, "done"))).toBe(false);
    });

    it("X2: are renamed at once where a command has taken the names", async () => {
      const { end } = await run(
        "for i in $(seq 200); do : >.vscode.replaced-$i; done; mkdir .vscode; exit 0",
      );
      const [place] = end.taken ?? [];
      expect(place?.keptAs).toMatch(/\.vscode\.replaced-\w{6}\/\.vscode$/);
      expect(existsSync(place?.keptAs ?? "")).toBe(true);
      expect(existsSync(join(workspace, ".vscode"))).toBe(false);
    });

    it.each([
      "touch -d '2001-03-04 05:06:08 UTC' x; mv x .vscode; sleep 0.3",
      "touch -d '2001-03-04 05:06:08 UTC' x; mv x .vscode; sleep 0.3; rmdir .vscode; mkdir x; touch -d '2001-03-04 05:06:08 UTC' x; mv x .vscode; sleep 0.3",
    ])(
      "X3: are renamed at once when what looks like a placeholder is filled: %s",
      async (script) => {
        const { end } = await run(
          `mkdir x; ${script}; echo evil > .vscode/tasks.json; sleep 1; test ! -e .vscode && touch gone`,
        );
        expect(end.taken).toHaveLength(1);
        expect(existsSync(join(workspace, "gone"))).toBe(true);
      },
    );

    it("cannot be hidden in a flood of other files", async () => {
      const { end } = await run(
        "for i in $(seq 1000); do : >f$i; done; mkdir .vscode; sleep 1; test ! -e .vscode && touch gone",
      );
      expect(end.taken).toHaveLength(1);
      expect(existsSync(join(workspace, "gone"))).toBe(true);
    });

    it("are reported by each command that runs meanwhile", async () => {
      const [one, other] = await Promise.all([
        run("sleep 1"),
        run("sleep 0.3; mkdir .vscode"),
      ]);
      expect([one.end.taken?.length, other.end.taken?.length]).toEqual([1, 1]);
    });

    it.each([
      ["at once", "sleep 20"],
      [
        "though it makes the place while it ends",
        "trap 'mkdir .vscode; exit 3' TERM; sleep 20 & wait",
      ],
      [
        "though it makes the place when that one has ended",
        "trap 'sleep 1; mkdir .vscode; exit 3' TERM; sleep 20 & wait",
      ],
    ])(
      "end a command in the background whose placeholder another one filled, %s",
      async (_how, script) => {
        const watching = run(
          "until [ -e .vscode ]; do sleep 0.01; done; echo evil > .vscode/tasks.json; sleep 0.5",
        );
        const held = await start(script, "hold");
        const end = await held.ended;
        expect(end.signalName + end.exitCode).not.toBe("0");
        const taken = (await watching).end.taken ?? [];
        expect(taken[0]?.path).toBe(join(workspace, ".vscode"));
        // Each time that the place was there is reported, and none is left.
        const kept = new Set(
          [...taken, ...(end.taken ?? [])].map(({ keptAs }) =>
            basename(keptAs),
          ),
        );
        expect(readdirSync(workspace).toSorted()).toEqual([...kept].toSorted());
      },
    );

    it("are read-only where a command in the background needs their placeholders", async () => {
      await using held = await start("touch started; sleep 20", "hold");
      await expect
        .poll(() => existsSync(join(workspace, "started")))
        .toBe(true);
      const { output, end } = await run(
        "echo evil > .vscode/tasks.json; ls -A",
      );
      expect(output).toMatch(/Read-only file system[\s\S]*\.vscode/);
      expect(end.taken).toBeUndefined();
      expect(held.pid).toBeGreaterThan(0);
    });

    it("may be made where that was granted", async () => {
      const place = join(workspace, ".vscode");
      const script = "mkdir -p .vscode; echo mine > .vscode/tasks.json; ls -A";
      const { output, end } = await run(script, [place]);
      expect([output, end.taken]).toEqual([".vscode\n", undefined]);
      expect(fileText(place, "tasks.json")).toBe("mine\n");
    });

    async function run(
      script: string,
      writable: readonly string[] = [],
    ): Promise<{ readonly output: string; readonly end: ProcessEnd }> {
      await using running = await start(script, "watch", writable);
      let output = "";
      for await (const text of running.output()) output += text;
      return { output, end: await running.ended };
    }

    async function start(
      script: string,
      missingSettings: "hold" | "watch",
      writable: readonly string[] = [],
    ): Promise<RunningProcess> {
      const command = await sandbox.command({
        argv: ["bash", "-c", script],
        workingDirectory: workspace,
        environment: { PATH },
        shell: "/bin/bash",
        access: { workspace, readable: [], writable, network: "none" },
        missingSettings,
      });
      return startProcess(command, signal);
    }
  },
);
