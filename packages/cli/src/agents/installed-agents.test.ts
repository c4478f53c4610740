import {
  chmod,
  mkdir,
  mkdtemp,
  realpath,
  rm,
  symlink,
  writeFile,
} from "node:fs/promises";
import { join } from "node:path";
import { putFile } from "@devtool/internal/testing/files";
import { temporaryDirectory } from "@devtool/internal/testing/temporary-directory";
import { beforeEach, describe, expect, it } from "vitest";
import { FakeTerminal } from "../../test/fake-terminal.ts";
import { runProgram } from "../program.ts";

describe("devtool doctor, about the agents that serve knows by name", () => {
  let base: string;
  beforeEach(async () => {
    base = temporaryDirectory();
    await mkdir(join(base, "bin"));
  });

  it("says how to install each that is not there, and fails not for that", async () => {
    const said = await doctor("/usr/bin");
    for (const line of [
      /· agent gemini +Gemini CLI is not installed: npm install -g @google\/gemini-cli/,
      /· agent codex +Codex is not installed: npm install -g @openai\/codex/,
      /· agent codex-acp +Codex over ACP is not installed: npm install -g @agentclientprotocol\/codex-acp/,
      /· agent claude +Claude Code is not installed/,
    ]) {
      expect(said).toMatch(line);
    }
  });

  it("reads the version of an npm package without starting its program, and says how to log in", async () => {
    const folder = join(base, "lib/node_modules/@google/gemini-cli");
    await mkdir(join(folder, "bundle"), { recursive: true });
    putFile(
      folder,
      "package.json",
      '{ "name": "@google/gemini-cli", "version": "0.61.0" }',
    );
    await program(join(folder, "bundle/gemini.js"), `touch ${base}/started`);
    await symlink(join(folder, "bundle/gemini.js"), join(base, "bin/gemini"));
    const said = await doctor(`${join(base, "bin")}:/usr/bin`);
    expect(said).toMatch(
      /✓ agent gemini +Gemini CLI 0\.61\.0, .*\/bin\/gemini\. To log in, run gemini once/,
    );
    await expect(rm(join(base, "started"))).rejects.toThrow("ENOENT");
  });

  it("asks any other program for its version, and marks what is untested", async () => {
    await program(join(base, "bin/vibe-acp"), "echo vibe-acp 3.0.2");
    await program(join(base, "bin/claude-agent-acp"), "exit 1");
    const said = await doctor(`${join(base, "bin")}:/usr/bin`);
    expect(said).toMatch(/✓ agent vibe +Mistral Vibe 3\.0\.2, /);
    expect(said).toMatch(/✓ agent claude +Claude Code \(untested\), /);
  });

  it("C-L2: says where a program is that others can change, and does not start it", async () => {
    const shared = join(base, "shared");
    await mkdir(shared);
    await chmod(shared, 0o777);
    await program(join(shared, "vibe-acp"), `touch ${base}/started`);
    const said = await doctor(`${shared}:/usr/bin`);
    expect(said).toContain(
      `Mistral Vibe: ${shared}/vibe-acp is not used, since everybody may change ${await realpath(shared)}`,
    );
    await expect(rm(join(base, "started"))).rejects.toThrow("ENOENT");
  });

  it("starts nothing from the directory that it runs in, and says so", async () => {
    const inside = await mkdtemp(join(process.cwd(), ".doctor-"));
    try {
      await program(join(inside, "vibe-acp"), `touch ${base}/started`);
      expect(await doctor(`${inside}:/usr/bin`)).toContain(
        `Mistral Vibe: ${inside}/vibe-acp is not used for work in ${process.cwd()}, which contains it: work in another directory`,
      );
      await expect(rm(join(base, "started"))).rejects.toThrow("ENOENT");
    } finally {
      await rm(inside, { recursive: true });
    }
  });

  async function program(path: string, script: string): Promise<void> {
    await writeFile(path, `#!/bin/sh\n${script}\n`, { mode: 0o755 });
  }

  async function doctor(path: string): Promise<string> {
    const terminal = new FakeTerminal({
      NO_COLOR: "1",
      PATH: path,
      HOME: base,
    });
    expect(
      await runProgram(["doctor", "--data", join(base, "data")], terminal.io),
    ).toBe(0);
    return terminal.said;
  }
});
