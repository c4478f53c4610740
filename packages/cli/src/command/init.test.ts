import { chmod, mkdir, readFile, stat, writeFile } from "node:fs/promises";
import { join } from "node:path";
import { startFakeGemini } from "@devtool/gemini/testing";
import { temporaryDirectory } from "@devtool/internal/testing/temporary-directory";
import { describe, expect, it } from "vitest";
import { FakeTerminal } from "../../test/fake-terminal.ts";
import { readConfig } from "../config.ts";
import { runProgram } from "../program.ts";
import { runCommand } from "../testing/run-command.ts";

/** Nothing is found in it: neither keys nor agents. */
const EMPTY = { NO_COLOR: "1", PATH: "/nowhere" };

describe("devtool init", () => {
  it("writes a configuration for whoever has nothing, proves it, and says the next step", async () => {
    const data = join(temporaryDirectory(), "data");
    const { code, out } = await runCommand(["init", "--data", data], {
      env: EMPTY,
    });
    expect(out).toContain(
      `wrote ${data}/config.toml for the scripted agent, which needs no key`,
    );
    expect(out).toMatch(/✓ write_file Create hello\.txt/);
    expect(out).toContain(
      `  devtool serve --data ${data} --workspace ~/my-project\n  devtool chat --data ${data}\n`,
    );
    expect(code).toBe(0);
    const path = join(data, "config.toml");
    expect((await stat(path)).mode & 0o777).toBe(0o600);
    expect((await readConfig(path, data, {})).model).toBeUndefined();
    expect((await readFile(path, "utf8")).split("\n").length).toBeLessThan(20);
  });

  it("configures the model of a key without writing the key, and proves it with that model", async () => {
    await using gemini = await startFakeGemini();
    const data = temporaryDirectory();
    const env = {
      ...EMPTY,
      GEMINI_API_KEY: "top-secret-key",
      GOOGLE_GEMINI_BASE_URL: gemini.url,
    };
    const { code, out } = await runCommand(["init", "--data", data], { env });
    expect(code).toBe(0);
    expect(gemini.stats().requests).toBeGreaterThan(0);
    const text = await readFile(join(data, "config.toml"), "utf8");
    expect(text).toMatch(/^name = "gemini:gemini-.+"$/m);
    expect(`${text}${out}`).not.toContain("top-secret-key");
    const { model } = await readConfig(undefined, data, {});
    expect(model?.name).toMatch(/^gemini:gemini-/);
  });

  it("takes a local server by its address, and no password in it", async () => {
    const data = temporaryDirectory();
    const local = (url: string) =>
      runCommand(
        [
          ...["init", "--no-try", "--data", data],
          ...["--model", "openai:qwen3:8b", "--base-url", url],
        ],
        { env: EMPTY },
      );
    for (const [url, problem] of [
      ["http://ada:secret@127.0.0.1:1/v1", "the file keeps none"],
      ["http://127.0.0.1:1/v1?key=secret", "the file keeps none"],
      ["127.0.0.1", "is not a URL"],
    ] as const) {
      const { code, err } = await local(url);
      expect([code, err]).toEqual([2, expect.stringContaining(problem)]);
    }
    expect((await local("http://127.0.0.1:11434/v1")).code).toBe(0);
    const { model } = await readConfig(undefined, data, {});
    expect(model).toMatchObject({
      name: "openai:qwen3:8b",
      baseUrl: "http://127.0.0.1:11434/v1",
    });
  });

  it("says which flags choose when several can answer and nobody can be asked", async () => {
    const env = {
      ...EMPTY,
      PATH: await binWith("opencode"),
      GEMINI_API_KEY: "a",
      ANTHROPIC_API_KEY: "b",
    };
    const data = temporaryDirectory();
    const { code, err } = await runCommand(["init", "--data", data], { env });
    expect(code).toBe(2);
    expect(err).toMatch(/choose one\n.*--model gemini: {3}gemini-.*\(Gemini\)/);
    expect(err).toMatch(/--model anthropic: {3}claude/);
    expect(err).toMatch(/--agent opencode {3}opencode 1\.2\.3\n/);
    const one = ["init", "--no-try", "--agent", "opencode", "--data", data];
    expect((await runCommand(one, { env })).code).toBe(0);
    const { agents } = await readConfig(undefined, data, {});
    expect(agents.map(({ module }) => module)).toEqual(["opencode"]);
  });

  it.each([
    [["--agent", "clippy"], "is not known: choose codex, gemini"],
    [["--agent", "qwen"], "it is not installed: npm install -g"],
    [["--model", "anthropic:"], "has no key: set ANTHROPIC_API_KEY"],
    [["--base-url", "http://127.0.0.1:1"], "needs the name of a model there"],
    [
      ["--model", "openai:x", "--base-url", "http://me:s3/cret@a.example"],
      '--base-url "http://…" is not a URL',
    ],
    [["--agent", "qwen", "--model", "x"], "cannot be used with"],
  ])("refuses %j, and writes nothing", async (flags, problem) => {
    const data = temporaryDirectory();
    const { code, err } = await runCommand(["init", "--data", data, ...flags], {
      env: EMPTY,
    });
    expect(err).toContain(problem);
    expect(code).not.toBe(0);
    await expect(stat(join(data, "config.toml"))).rejects.toThrow("ENOENT");
  });

  it("never replaces a configuration without being told to", async () => {
    const data = temporaryDirectory();
    const path = join(data, "config.toml");
    await writeFile(path, "port = 1\n", { mode: 0o600 });
    const argv = ["init", "--no-try", "--data", data];
    const { code, err } = await runCommand(argv, { env: EMPTY });
    expect([code, err]).toEqual([
      2,
      `devtool: config file "${path}" exists: look at it, and replace it with --overwrite\n`,
    ]);
    const terminal = new FakeTerminal(EMPTY);
    const asked = runProgram(argv, terminal.io);
    await terminal.play(["Which one? ", "\r"], ["Replace it? ", "\r"]);
    expect(await asked).toBe(130);
    expect(await readFile(path, "utf8")).toBe("port = 1\n");
    const other = new FakeTerminal(EMPTY);
    const agreed = runProgram(argv, other.io);
    await other.play(["Which one? ", "\r"], ["Replace it? ", "y\r"]);
    expect(await agreed).toBe(0);
    expect(await readFile(path, "utf8")).toContain("No model is configured");
  });

  it("asks at a terminal, again for what is not in the list, and stops at Ctrl-D", async () => {
    const data = temporaryDirectory();
    const env = { ...EMPTY, PATH: await binWith("opencode") };
    const argv = ["init", "--no-try", "--data", data];
    const terminal = new FakeTerminal(env);
    const left = runProgram(argv, terminal.io);
    await terminal.play(
      ["  1  opencode 1.2.3\n  2  the scripted agent"],
      ["Which one? [1-2] > ", "7\r"],
      ['"7" is not in the list: type a number from 1 to 2'],
      ["Which one? [1-2] > ", "\u0004"],
    );
    expect(await left).toBe(130);
    const other = new FakeTerminal(env);
    const chosen = runProgram(argv, other.io);
    await other.play(["Which one? ", "1\r"]);
    expect(await chosen).toBe(0);
    expect((await readConfig(undefined, data, {})).agents).toHaveLength(1);
  });

  it("fails when the task does, and says so", async () => {
    await using gemini = await startFakeGemini();
    const data = temporaryDirectory();
    const env = {
      ...EMPTY,
      GEMINI_API_KEY: "a",
      // Nothing is there, which is not tried again as a lost connection is.
      GOOGLE_GEMINI_BASE_URL: `${gemini.url}/elsewhere`,
    };
    const { code, err, out } = await runCommand(["init", "--data", data], {
      env,
    });
    expect(code).toBe(1);
    expect(err).toContain('mend it, and run "devtool init" again');
    expect(out).not.toContain("Next,");
  });
});

/** Makes a directory with a program that only prints a version. */
async function binWith(name: string): Promise<string> {
  const directory = join(temporaryDirectory(), "bin");
  await mkdir(directory);
  const path = join(directory, name);
  await writeFile(path, "#!/bin/sh\necho 1.2.3\n");
  await chmod(path, 0o755);
  return directory;
}
