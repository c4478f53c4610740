import { execFile } from "node:child_process";
import { mkdir, readFile, writeFile } from "node:fs/promises";
import { join } from "node:path";
import { promisify } from "node:util";
import { beforeAll, describe, expect, it } from "vitest";
import { LEFT_TO_CI } from "../depth.ts";
import { startServing } from "../durability/crash/server-process.ts";
import { PackedProject } from "./project.ts";

const run = promisify(execFile);

/** An agent that fails with words for its user. */
const FAILING = `
import { Code, DevtoolError } from "@devtool/server";

export const agent = {
  about: { name: "Failing", description: "Fails." },
  open: () => ({ createExecutor: () => ({ execute }) }),
};
async function* execute() {
  throw new DevtoolError("the moon is full", Code.FailedPrecondition);
}
`;

describe.skipIf(LEFT_TO_CI !== "")(
  `a third-party store, beside the packed command${LEFT_TO_CI}`,
  () => {
    let project: PackedProject;
    beforeAll(async () => {
      project = await PackedProject.install(
        ["vitest@5"],
        ["schema", "server", "cli"],
      );
      const page = new URL("../../docs/own-agent.md", import.meta.url);
      const text = await readFile(page, "utf8");
      for (const [name, file] of [
        ["store", "store.mjs"],
        ["test", "store.test.mjs"],
      ]) {
        const [, code = ""] =
          new RegExp(
            `<!-- own-store: ${name} -->\\s+\`\`\`js\\n([\\s\\S]*?)\`\`\``,
          ).exec(text) ?? [];
        await writeFile(join(project.directory, file ?? ""), code);
      }
      await writeFile(join(project.directory, "failing.mjs"), FAILING);
      await mkdir(join(project.directory, "work"));
    }, 400_000);

    it("passes the suites that prove it", { timeout: 120_000 }, async () => {
      const main = join(project.directory, "node_modules/vitest/vitest.mjs");
      const output = join(project.directory, "report.json");
      // The suites of the page leave their stores behind.
      const TMPDIR = join(project.directory, "tmp");
      await mkdir(TMPDIR);
      await run(
        process.execPath,
        [main, "run", "--reporter=json", `--outputFile=${output}`],
        { cwd: project.directory, env: project.environment({ TMPDIR }) },
      );
      const report = JSON.parse(await readFile(output, "utf8"));
      expect(report.numFailedTests).toBe(0);
      expect(report.numPassedTests).toBeGreaterThan(25);
    });

    it("keeps the tasks of a server that is killed, and hears of them", async () => {
      const data = join(project.directory, "data");
      const work = join(project.directory, "work");
      const flags = ["--data", data, "--workspace", work];
      const start = () =>
        startServing(
          [
            ...flags,
            ...[
              "--agent",
              "devtool",
              "--agent",
              join(project.directory, "failing.mjs"),
            ],
            ...["--store", `module:${join(project.directory, "store.mjs")}`],
          ],
          project.environment(),
          join(project.directory, "node_modules/@devtool/cli/dist/main.js"),
          process.execPath,
        );
      const devtool = (...args: readonly string[]) =>
        project.devtool(process.execPath, ...args, "--data", data);
      const first = await start();
      const ended = await devtool("run", "--workspace", work, "text Kept.");
      expect(ended).toMatchObject({ code: 0 });
      expect(first.said.stderr).toMatch(/^[\da-f-]+ created$/m);
      await first.kill();
      const second = await start();
      const { stdout } = await devtool("tasks");
      expect(stdout).toMatch(/completed .* 1 message +text Kept\./);
      const failed = await devtool(
        ...["run", "--workspace", work, "--agent", "failing", "Hello."],
      );
      expect(failed.code).not.toBe(0);
      expect(failed.stdout + failed.stderr).toContain("the moon is full");
      await second.stop();
    });
  },
);
