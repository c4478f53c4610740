import { execFile } from "node:child_process";
import { mkdtemp, readFile, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { PassThrough } from "node:stream";
import { fileURLToPath } from "node:url";
import { promisify } from "node:util";
import { createServer } from "@devtool/server";
import { describe, expect, it } from "vitest";
import { runProgram } from "../packages/cli/src/program.ts";

const root = fileURLToPath(new URL("..", import.meta.url));
const SAYS: Readonly<Record<string, string>> = {
  schema: `run_shell_command PENDING true
{"tool_call_id":"call-1","status":"EXECUTING","tool_name":"run_shell_command","confirmation_request":{"options":[{"id":"proceed_once","name":"Allow once"}],"execute_details":{"command":"ls"}}}
`,
  client: "done\n",
  server: "devtool 0.3.0\n",
};

describe("the READMEs", () => {
  for (const [name, says] of Object.entries(SAYS)) {
    it(`of ${name} have code that runs as it stands`, async () => {
      const text = await readFile(join(root, "packages", name, "README.md"), "utf8");
      const code = /```ts\n([\s\S]*?)```/.exec(text)?.[1] ?? "";
      const workspace = await mkdtemp(join(tmpdir(), "devtool-readme-"));
      await using server = await createServer({ workspace });
      const env = { ...process.env, DEVTOOL_URL: server.url, DEVTOOL_TOKEN: server.token };
      const { stdout } = await promisify(execFile)(process.execPath, ["--input-type=module", "-e", code], {
        cwd: root,
        env,
      });
      expect(stdout).toBe(says);
      await rm(workspace, { recursive: true });
    });
  }

  it("show a job that makes a program, as it really goes", async () => {
    const text = await readFile(join(root, "README.md"), "utf8");
    const prompt =
      /<!-- transcript: command -->\n```sh\ndevtool run --approve all --workspace \. '([\s\S]*?)'\n```/.exec(text)?.[1];
    const shown = /<!-- transcript: output -->\n```\n([\s\S]*?)```/.exec(text)?.[1];
    const workspace = await mkdtemp(join(tmpdir(), "devtool-job-"));
    const stdout = new PassThrough();
    const code = await runProgram(
      ["run", "--approve", "all", "--workspace", workspace, "--data", join(workspace, ".data"), prompt ?? ""],
      {
        stdin: new PassThrough(),
        stdout,
        stderr: new PassThrough(),
        env: {},
        interactive: false,
        onInterrupt: () => () => undefined,
        interrupt: () => undefined,
      },
    );
    expect(stdout.read()?.toString()).toBe(shown);
    expect(code).toBe(0);
    expect(await readFile(join(workspace, "greet.mjs"), "utf8")).toContain("export const greet");
    await rm(workspace, { recursive: true });
  });
});
