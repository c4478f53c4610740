import { execFile } from "node:child_process";
import { EventEmitter, once } from "node:events";
import { mkdtemp, readFile, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { PassThrough } from "node:stream";
import { fileURLToPath } from "node:url";
import { promisify } from "node:util";
import { startFakeGemini } from "@devtool/fake-gemini";
import { createServer } from "@devtool/server";
import { describe, expect, it } from "vitest";
import type { Io } from "../packages/cli/src/io.ts";
import { runProgram } from "../packages/cli/src/program.ts";

const root = fileURLToPath(new URL("..", import.meta.url));
const SAYS: Readonly<Record<string, string>> = {
  schema: `run_shell_command PENDING true
{"tool_call_id":"call-1","status":"EXECUTING","tool_name":"run_shell_command","confirmation_request":{"options":[{"id":"proceed_once","name":"Allow once"}],"execute_details":{"command":"ls"}}}
`,
  client: "done\n",
  server: "devtool 0.3.0\n",
  conformance: "a2a/card passed\na2a/card-cached passed\n",
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
    const { io, says } = terminal({});
    const data = join(workspace, ".data");
    const code = await runProgram(
      ["run", "--approve", "all", "--workspace", workspace, "--data", data, prompt ?? ""],
      io,
    );
    expect(says()).toBe(shown);
    expect(code).toBe(0);
    expect(await readFile(join(workspace, "greet.mjs"), "utf8")).toContain("export const greet");
    await rm(workspace, { recursive: true });
  });

  it("start an agent that thinks with Gemini by a key", async () => {
    const text = await readFile(join(root, "README.md"), "utf8");
    const [, variable = "", script = ""] =
      /<!-- gemini: start -->\n```sh\n(\w+)=… npx -y pnpm@12 (\w+)\n```/.exec(text) ?? [];
    const [, prompt = ""] = /<!-- gemini: run -->\n```sh\nnpx -y pnpm@12 devtool run "(.*)"\n```/.exec(text) ?? [];
    const { scripts } = JSON.parse(await readFile(join(root, "package.json"), "utf8"));
    expect(scripts[script]).toContain("main.js serve --workspace");

    await using gemini = await startFakeGemini();
    const base = await mkdtemp(join(tmpdir(), "devtool-gemini-"));
    const data = ["--data", join(base, "data")];
    const serving = terminal({ [variable]: "none", GOOGLE_GEMINI_BASE_URL: gemini.url });
    const served = runProgram(["serve", "--port", "0", "--workspace", join(base, "work"), ...data], serving.io);
    await once(serving.io.stdout, "readable");
    const running = terminal({});
    expect(await runProgram(["run", ...data, prompt], running.io)).toBe(0);
    expect(running.says()).toContain(`You said: ${prompt}`);
    serving.interrupt();
    expect(await served).toBe(0);
    await rm(base, { recursive: true });
  });
});

/** A terminal that nobody sits at. */
function terminal(env: Io["env"]): { readonly io: Io; says(): string; interrupt(): void } {
  const stdout = new PassThrough();
  const interrupts = new EventEmitter();
  const io: Io = {
    stdin: new PassThrough(),
    stdout,
    stderr: new PassThrough(),
    env,
    interactive: false,
    onInterrupt(listener) {
      interrupts.on("interrupt", listener);
      return () => interrupts.off("interrupt", listener);
    },
    interrupt: () => undefined,
  };
  return { io, says: () => stdout.read()?.toString() ?? "", interrupt: () => void interrupts.emit("interrupt") };
}
