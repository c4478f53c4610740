import {
  existsSync,
  mkdirSync,
  readdirSync,
  renameSync,
  symlinkSync,
} from "node:fs";
import { join } from "node:path";
import { putFile } from "@devtool/internal/testing/files";
import { temporaryDirectory } from "@devtool/internal/testing/temporary-directory";
import { beforeEach, describe, expect, it } from "vitest";
import { LEFT_TO_CI } from "../../../test/depth.ts";
import { findSandbox } from "./find-sandbox.ts";
import type { SandboxAccess, SandboxedCommand } from "./sandbox.ts";
import { type ProcessEnd, startProcess } from "./start-process.ts";

const PATH = "/usr/local/bin:/usr/bin:/bin";
/** The system call that exchanges two names at once. */
const RENAMEAT2 = process.arch === "arm64" ? 276 : 316;
const { signal } = new AbortController();
const sandbox = await findSandbox("auto", { path: PATH }, signal);
const skipReason = sandbox.confines ? "" : ` (skipped: ${sandbox.notice})`;

/**
 * Commands of the same or an enclosing workspace may rename directories while
 * bwrap mounts them.
 */
describe.skipIf(!sandbox.confines)(
  `a command whose workspace is renamed while it starts${skipReason}`,
  () => {
    let root: string;
    let outer: string;
    let inner: string;
    let secret: string;
    beforeEach(() => {
      root = temporaryDirectory();
      outer = join(root, "outer");
      inner = join(outer, "inner");
      secret = join(root, "secret");
      for (const path of [inner, secret]) mkdirSync(path, { recursive: true });
      mkdirSync(join(secret, "mise"));
      putFile(secret, "secret.txt", "canary");
    });

    it("does not run in a link that took the place of its workspace", async () => {
      const command = await prepare(inner, "cat secret.txt; touch made");
      await run(outer, `mv inner moved && ln -s ${secret} inner`);
      const { output, end } = await start(command);
      expect(output).not.toContain("canary");
      expect(readdirSync(secret)).toEqual(["mise", "secret.txt"]);
      expect(end.error?.message).toBe(
        `${JSON.stringify(inner)} was renamed or replaced while the command was starting: run the command again`,
      );
    });

    it("does not run with a link in the place of a directory above a guarded place", async () => {
      for (const path of [join(outer, ".config/mise"), join(inner, "mise")]) {
        mkdirSync(path, { recursive: true });
      }
      const command = await prepare(outer, "touch .config/made real/mise/made");
      renameSync(join(outer, ".config"), join(outer, "real"));
      symlinkSync("inner", join(outer, ".config"));
      const { end } = await start(command);
      expect(end.error?.message).toContain(
        `${JSON.stringify(join(outer, ".config"))} was renamed or replaced`,
      );
      expect(
        [join(inner, "made"), join(outer, "real/mise/made")].filter((path) =>
          existsSync(path),
        ),
      ).toEqual([]);
    });

    it.skipIf(LEFT_TO_CI !== "")(
      `reads nothing outside of the workspace, however quickly a directory and a link change places${LEFT_TO_CI}`,
      async () => {
        const makeLink = `mkdir -p .config/mise && ln -s ${secret} link`;
        const swap = `syscall(${RENAMEAT2}, -100, $d, -100, $l, 2)`;
        const swapping = await prepare(
          outer,
          `${makeLink}; perl -e '($d, $l) = (".config", "link"); ${swap} until -e "stop"'`,
        );
        await using attack = startProcess(swapping, signal);
        await expect.poll(() => existsSync(join(outer, "link"))).toBe(true);
        const outcomes = new Set<string>();
        for (let attempt = 0; attempt < 40; attempt++) {
          const command = await prepare(
            outer,
            "cat .config/secret.txt link/secret.txt; exit 0",
          ).catch(() => undefined);
          if (command === undefined) continue;
          const { output, end } = await start(command);
          outcomes.add(
            output.includes("canary") ? "read" : end.error ? "refused" : "ran",
          );
        }
        putFile(outer, "stop", "");
        await attack.ended;
        expect([...outcomes]).not.toContain("read");
        expect(outcomes.size).toBeGreaterThan(0);
      },
    );

    it("cannot move a hidden directory to a name under which it is not hidden", async () => {
      const hidden = join(outer, "a/b/data");
      putFile(hidden, "token", "canary");
      const hiding = await findSandbox(
        "bwrap",
        { path: PATH, hidden: [hidden] },
        signal,
      );
      await start(await prepare(outer, "mv a moved; mv a/b a/moved", hiding));
      const { output } = await start(
        await prepare(outer, "cat */*/data/token */*/*/token", hiding),
      );
      expect(output).not.toContain("canary");
    });

    async function run(workspace: string, script: string): Promise<string> {
      return (await start(await prepare(workspace, script))).output;
    }

    function prepare(
      workspace: string,
      script: string,
      confinement = sandbox,
    ): Promise<SandboxedCommand> {
      const access: SandboxAccess = {
        workspace,
        readable: [],
        writable: [],
        network: "none",
      };
      const argv = ["bash", "-c", script];
      return confinement.command({
        argv,
        workingDirectory: workspace,
        environment: { PATH },
        shell: "/bin/bash",
        access,
      });
    }

    async function start(
      command: SandboxedCommand,
    ): Promise<{ readonly output: string; readonly end: ProcessEnd }> {
      await using running = startProcess(command, signal);
      let output = "";
      for await (const text of running.output()) output += text;
      return { output, end: await running.ended };
    }
  },
);
