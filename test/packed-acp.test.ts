import { execFile } from "node:child_process";
import { existsSync } from "node:fs";
import { copyFile, mkdir, readFile, rm } from "node:fs/promises";
import { join } from "node:path";
import { fileURLToPath } from "node:url";
import { promisify } from "node:util";
import { afterAll, afterEach, beforeAll, beforeEach, describe, expect, it } from "vitest";
import { type ServerProcess, startServing } from "./crash/server-process.ts";
import { LEFT_TO_CI } from "./depth.ts";
import { PackedProject } from "./packed/project.ts";

const run = promisify(execFile);
const PYTHON = fileURLToPath(new URL("interop/.venv-1.0/bin/python", import.meta.url));
const TALK = fileURLToPath(new URL("packed/talk.py", import.meta.url));
const ACP_SDK = "@agentclientprotocol/sdk@2.4.0";

describe.skipIf(LEFT_TO_CI !== "")(`an ACP agent behind the packed command, from an empty home${LEFT_TO_CI}`, () => {
  let project: PackedProject;
  let work: string;
  let main: string;
  let server: ServerProcess;

  beforeAll(async () => {
    project = await PackedProject.install([ACP_SDK], ["cli"]);
    main = join(project.directory, "node_modules/@devtool/cli/dist/main.js");
    for (const name of ["acp-agent.mjs", "acp-editor.mjs"])
      await copyFile(new URL(`packed/${name}`, import.meta.url), join(project.directory, name));
  }, 400_000);
  afterAll(() => project[Symbol.asyncDispose]());

  beforeEach(async () => {
    work = join(project.directory, "work");
    await mkdir(work);
    const agent = `acp:${process.execPath} ${join(project.directory, "acp-agent.mjs")}`;
    server = await startServing(["--agent", agent, "--workspace", work], project.environment(), main);
  });
  afterEach(async () => {
    await server.kill();
    await rm(work, { recursive: true });
  });

  it("asks, and writes on a plain yes of Python's a2a-sdk", async ({ skip }) => {
    if (!existsSync(PYTHON)) skip("Python's a2a-sdk is missing: run `pnpm install:interop`");
    const [asked = "", ended] = await talk("Hello from Python.", "yes");
    expect(asked).toMatch(/^INPUT_REQUIRED .*Write said\.txt/);
    expect(ended).toMatch(/^COMPLETED .*Written\.$/);
    expect(await written()).toBe("Hello from Python.");
  });

  it("asks, and does not write on a plain no of Python's a2a-sdk", async ({ skip }) => {
    if (!existsSync(PYTHON)) skip("Python's a2a-sdk is missing: run `pnpm install:interop`");
    const [asked, ended] = await talk("Hello from Python.", "no");
    expect([asked, ended]).toEqual([
      expect.stringMatching(/^INPUT_REQUIRED /),
      expect.stringMatching(/^COMPLETED .*Not written\.$/),
    ]);
    expect(existsSync(join(work, "said.txt"))).toBe(false);
  });

  it("asks in an ACP editor, and does what the user chose there", async () => {
    expect(await edit("reject_once", "No.")).toBe("end_turn Not written.\n");
    expect(existsSync(join(work, "said.txt"))).toBe(false);
    expect(await edit("allow_once", "Hello from an editor.")).toBe("end_turn Written.\n");
    expect(await written()).toBe("Hello from an editor.");
  });

  /** Sends words with Python's SDK, one message each, and gives its line about each. */
  async function talk(...words: readonly string[]): Promise<string[]> {
    const { stdout } = await run(PYTHON, [TALK, ...words], { env: project.environment() });
    return stdout.trimEnd().split("\n");
  }

  /** Sends a prompt through `devtool acp`. */
  async function edit(kind: string, text: string): Promise<string> {
    const words = [join(project.directory, "acp-editor.mjs"), kind, text, process.execPath, main, "acp"];
    return (await run(process.execPath, words, { cwd: work, env: project.environment() })).stdout;
  }

  function written(): Promise<string> {
    return readFile(join(work, "said.txt"), "utf8");
  }
});
