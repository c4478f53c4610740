import { execFile, spawn } from "node:child_process";
import { once } from "node:events";
import { existsSync, statSync } from "node:fs";
import { mkdir, readdir, readFile } from "node:fs/promises";
import { join } from "node:path";
import { createInterface } from "node:readline";
import { promisify } from "node:util";
import { temporaryDirectory } from "@devtool/internal/testing/temporary-directory";
import { beforeAll, describe, expect, it } from "vitest";
import { makeExecutable } from "../../scripts/release/executable.ts";
import { LEFT_TO_DEEP } from "../depth.ts";

const run = promisify(execFile);
/** The most that it may have in bytes: Node has 127 million of them. */
const MAX_BYTES = 150_000_000;
const SCRIPT = "write a.txt hello\nrun cat a.txt\ntext All is done.";

describe.skipIf(LEFT_TO_DEEP !== "")(
  `the command as one executable${LEFT_TO_DEEP}`,
  () => {
    let program: string;
    beforeAll(async () => {
      program = join(temporaryDirectory(), "devtool");
      await makeExecutable(program);
    });

    it("does its first task in an empty home without Node, also when two start at once", async () => {
      expect(statSync(program).size).toBeLessThan(MAX_BYTES);
      const home = temporaryDirectory();
      const options = await placeOf(home);
      const args = ["run", "--approve", "all", SCRIPT];
      const both = [
        run(program, ["--version"], options),
        run(program, args, options),
      ];
      const [, { stdout } = { stdout: "" }] = await Promise.all(both);
      expect(stdout).toContain("All is done.");
      expect(await readFile(join(options.cwd, "a.txt"), "utf8")).toBe("hello");
      expect(await readdir(join(home, ".cache/devtool/program"))).toEqual([
        expect.stringMatching(/^[0-9a-f]{64}$/),
      ]);
      // The grammar of shell commands is a file of its own.
      const call = ["--tool", "run_shell_command", "--arguments"];
      const explained = await run(
        program,
        ["policy", "explain", ...call, '{"command":"git status && ls"}'],
        options,
      );
      expect(explained.stdout).toMatch(/^allow/);
    });

    it("serves the console", async () => {
      const { cwd, env } = await placeOf(temporaryDirectory());
      const server = spawn(program, ["serve", "--json", "--port", "0"], {
        cwd,
        env,
        stdio: ["ignore", "pipe", "ignore"],
      });
      const ended = once(server, "exit");
      const [line] = await once(createInterface(server.stdout), "line");
      const { url }: { readonly url: string } = JSON.parse(String(line));
      const page = await fetch(`${url}/console`);
      expect(await page.text()).toContain("<!doctype html>");
      server.kill("SIGTERM");
      expect(await ended).toEqual([0, null]);
    });

    it("leaves nothing behind where nothing can be kept", async () => {
      const { cwd, env } = await placeOf(temporaryDirectory());
      const temporary = join(cwd, "temporary");
      await mkdir(temporary);
      const { stdout } = await run(program, ["--version"], {
        cwd,
        env: { ...env, HOME: "/dev/null", TMPDIR: temporary },
      });
      expect(stdout).toMatch(/^\d+\.\d+\.\d+\n$/);
      expect(await readdir(temporary)).toEqual([]);
    });
  },
);

/** A project below a home, and an environment whose PATH has no Node. */
async function placeOf(
  home: string,
): Promise<{ readonly cwd: string; readonly env: NodeJS.ProcessEnv }> {
  const cwd = join(home, "project");
  await mkdir(cwd);
  const PATH = ["/usr/bin", "/bin"]
    .filter((directory) => !existsSync(join(directory, "node")))
    .join(":");
  return { cwd, env: { HOME: home, PATH } };
}
