import { execFile } from "node:child_process";
import { mkdir, readFile, writeFile } from "node:fs/promises";
import { join } from "node:path";
import { promisify } from "node:util";
import { beforeAll, describe, expect, it } from "vitest";
import { LEFT_TO_CI } from "../depth.ts";
import { startServing } from "../durability/crash/server-process.ts";
import { PackedProject } from "./project.ts";

const run = promisify(execFile);

/** What vitest reports of a test. */
interface Result {
  readonly fullName: string;
  readonly status: string;
  readonly failureMessages: readonly string[];
}

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

/** The suites for a store in memory, and for one that keeps events as JSON. */
const WRONG = `
import { fromJson, toJson } from "@bufbuild/protobuf";
import { TaskEventSchema } from "@devtool/schema";
import { MemoryTaskStore } from "@devtool/server/store";
import { testPushConfigStore, testTaskStore } from "@devtool/server/testing/contracts";
import { describe } from "vitest";

const inMemory = async () => new MemoryTaskStore();
describe("memory", () => {
  testTaskStore(inMemory);
  testPushConfigStore(async () => {
    const store = await inMemory();
    return { configs: store.pushConfigs, [Symbol.asyncDispose]: () => store[Symbol.asyncDispose]() };
  });
});

class JsonStore extends MemoryTaskStore {
  append(written) {
    const events = written.events.map((event) =>
      fromJson(TaskEventSchema, toJson(TaskEventSchema, event)));
    return super.append({ ...written, events });
  }
}
describe("JSON", () => testTaskStore(async () => new JsonStore(), "forgets"));
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

    /** Runs the tests of a file, and returns vitest's report. */
    const report = async (file: string) => {
      const main = join(project.directory, "node_modules/vitest/vitest.mjs");
      const output = join(project.directory, `${file}.json`);
      // The suites of the page leave their stores behind.
      const TMPDIR = join(project.directory, "tmp");
      await mkdir(TMPDIR, { recursive: true });
      // Ends with 1 when a test fails, which the report says.
      await run(
        process.execPath,
        [
          main,
          "run",
          file,
          "--reporter=json",
          `--outputFile=${output}`,
          // As many appends wait for a busy disk longer than five seconds.
          "--testTimeout=60000",
        ],
        { cwd: project.directory, env: project.environment({ TMPDIR }) },
      ).catch(() => undefined);
      const { testResults } = JSON.parse(await readFile(output, "utf8"));
      return testResults[0].assertionResults as readonly Result[];
    };

    it("passes the suites that prove it", { timeout: 120_000 }, async () => {
      const results = await report("store.test.mjs");
      expect(results.filter(({ status }) => status !== "passed")).toEqual([]);
      expect(results.length).toBeGreaterThan(30);
    });

    it("fails them when it keeps nothing, or not all of a record", {
      timeout: 120_000,
    }, async () => {
      await writeFile(join(project.directory, "wrong.test.mjs"), WRONG);
      const results = await report("wrong.test.mjs");
      const failed = results
        .filter(({ status }) => status === "failed")
        .map(({ fullName }) => fullName);
      const unknown =
        "readEvents keeps what a newer release has in a record, and this one does not know";
      expect(failed).toEqual([
        "memory putHead keeps the latest head of each task that there is",
        "memory a store that is opened again has all that was appended",
        "memory a store that is opened again goes on where each log and the audit log ended",
        "memory a store of push configs has all when it is opened again, also what it does not know",
        `JSON ${unknown}`,
      ]);
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
