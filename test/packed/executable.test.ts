import { execFile, spawn } from "node:child_process";
import { once } from "node:events";
import { existsSync, statSync, symlinkSync } from "node:fs";
import { mkdir, readdir, readFile, utimes } from "node:fs/promises";
import { delimiter, join } from "node:path";
import { createInterface } from "node:readline";
import { promisify } from "node:util";
import { putFile } from "@devtool/internal/testing/files";
import { temporaryDirectory } from "@devtool/internal/testing/temporary-directory";
import { beforeAll, describe, expect, it } from "vitest";
import { makeExecutable } from "../../scripts/release/executable.ts";
import { LEFT_TO_DEEP } from "../depth.ts";
import { describeWithPostgres } from "../fleet/with-postgres.ts";

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

    it("leaves nothing behind where nothing can be kept, nor what a killed start left", async () => {
      const { cwd, env, temporary } = await placeWithoutHome();
      const ended = spawn("true");
      await once(ended, "exit");
      const names = [
        `devtool-${ended.pid}-stale0`,
        `devtool-${ended.pid}-fresh0`,
        `devtool-${process.pid}-works0`,
        "devtool-stale0",
      ];
      for (const name of names) {
        putFile(join(temporary, name), "main.js", "");
        const isFresh = name.endsWith("-fresh0");
        if (!isFresh) await utimes(join(temporary, name), 0, 0);
      }
      const { stdout } = await run(program, ["--version"], { cwd, env });
      expect(stdout).toMatch(/^\d+\.\d+\.\d+\n$/);
      expect(await readdir(temporary)).toEqual(names.slice(1).toSorted());
    });

    it("removes what it unpacked in part, when the disk is full", async () => {
      const { cwd, env, temporary } = await placeWithoutHome();
      // Files of up to 512 KB.
      const limited = 'ulimit -f 1000; trap "" XFSZ; exec "$0" --version';
      await expect(
        run("bash", ["-c", limited, program], { cwd, env }),
      ).rejects.toThrow("EFBIG");
      expect(await readdir(temporary)).toEqual([]);
    });

    describeWithPostgres("with DBOS", (database) => {
      it("loads no package that another user can put above it, and says so", async () => {
        const { cwd, env, temporary } = await placeWithoutHome();
        const planted = "node_modules/@dbos-inc/dbos-sdk";
        putFile(temporary, `${planted}/package.json`, '{"main":"index.js"}');
        putFile(temporary, `${planted}/index.js`, 'console.error("planted")');
        const data = join(cwd, "data");
        await mkdir(data, { mode: 0o700 });
        const config = `[store]\nurl = "${database.url}"\ndbos = true\n`;
        putFile(data, "config.toml", config);
        const flow =
          'name: flow\nsteps: [{ id: a, agent: devtool, task: "x" }]\n';
        putFile(cwd, "flow.yaml", flow);
        const args = [
          ...["serve", "--port", "0", "--data", data, "--workspace", "work"],
          ...["--agent", "devtool", "--agent", "./flow.yaml"],
        ];
        const { stderr } = await run(program, args, { cwd, env }).catch(Object);
        expect(stderr).toContain(
          "@dbos-inc/dbos-sdk cannot be loaded: a single executable loads no packages: install the command with npm",
        );
        expect(stderr).not.toContain("planted");
      });
    });
  },
);

/** A project of a user without a home, and its temporary directory. */
async function placeWithoutHome(): Promise<
  Awaited<ReturnType<typeof placeOf>> & { readonly temporary: string }
> {
  const { cwd, env } = await placeOf(temporaryDirectory());
  const temporary = join(cwd, "temporary");
  await mkdir(temporary);
  const without = { ...env, HOME: "/dev/null", TMPDIR: temporary };
  return { cwd, env: without, temporary };
}

/** A project below a home, and an environment whose PATH has a few programs, without Node. */
async function placeOf(
  home: string,
): Promise<{ readonly cwd: string; readonly env: NodeJS.ProcessEnv }> {
  const [cwd, PATH] = [join(home, "project"), join(home, "programs")];
  await mkdir(cwd);
  await mkdir(PATH);
  const directories = (process.env.PATH ?? "").split(delimiter);
  for (const name of ["bash", "bwrap", "cat", "git"]) {
    const found = directories
      .map((directory) => join(directory, name))
      .find(existsSync);
    if (found !== undefined) symlinkSync(found, join(PATH, name));
  }
  return { cwd, env: { HOME: home, PATH } };
}
