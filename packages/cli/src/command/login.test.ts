import { once } from "node:events";
import { chmod, readFile, stat, writeFile } from "node:fs/promises";
import { createServer } from "node:http";
import type { AddressInfo } from "node:net";
import { join } from "node:path";
import { PassThrough } from "node:stream";
import { startFakeGemini } from "@devtool/gemini/testing";
import { temporaryDirectory } from "@devtool/internal/testing/temporary-directory";
import { describe, expect, it } from "vitest";
import { FakeTerminal } from "../../test/fake-terminal.ts";
import { runProgram } from "../program.ts";
import { pipedIo, runCommand } from "../testing/run-command.ts";

const KEY = "AIza-top.secret_key";
/** Nothing is found in it: neither keys nor agents. */
const EMPTY = { NO_COLOR: "1", PATH: "/nowhere" };

describe("devtool login", () => {
  it("keeps a key that is pasted, shows it nowhere, and its model answers", async () => {
    await using gemini = await startFakeGemini();
    const data = temporaryDirectory();
    const env = { ...EMPTY, GOOGLE_GEMINI_BASE_URL: gemini.url };
    const terminal = new FakeTerminal(env);
    const ended = runProgram(["login", "--data", data], terminal.io);
    await terminal.play(
      ["Which one? [1-3] > ", "1\r"],
      ["(it is not shown) > "],
    );
    terminal.paste(KEY);
    terminal.press("\r");
    expect(await ended).toBe(0);
    const host = new URL(gemini.url).host;
    expect(terminal.said).toContain(
      `asking Gemini at ${host} for its models with the key …`,
    );
    expect(terminal.said).toContain(
      `Gemini at ${host} takes the key, and offers 1 model`,
    );
    expect(terminal.said).not.toContain("secret");
    const path = join(data, "model-keys.env");
    expect((await stat(path)).mode & 0o777).toBe(0o600);
    expect(await readFile(path, "utf8")).toBe(`GEMINI_API_KEY=${KEY}\n`);

    const tried = await runCommand(["init", "--data", data], { env });
    expect(tried.code, tried.err).toBe(0);
    expect(gemini.stats().requests).toBeGreaterThan(0);
    const config = await readFile(join(data, "config.toml"), "utf8");
    expect(config).toMatch(/^name = "gemini:gemini-.+"$/m);
    expect(`${config}${tried.out}`).not.toContain("secret");
    const { out } = await runCommand(["config", "--data", data], { env });
    expect(out).toMatch(
      /^model +gemini-.+ GEMINI_API_KEY in model-keys\.env$/m,
    );
  });

  it("does not show keys that come before the question is drawn", async () => {
    const terminal = new FakeTerminal(EMPTY);
    const data = temporaryDirectory();
    const ended = runProgram(
      ["login", "openai", "--no-check", "--data", data],
      terminal.io,
    );
    terminal.press("sk-early");
    await terminal.shows("(it is not shown) > ");
    terminal.press(`${KEY}\r`);
    expect(await ended).toBe(0);
    expect(terminal.said).not.toMatch(/sk-early|secret/);
  });

  it("does not show a key that is pasted at the question before", async () => {
    const terminal = new FakeTerminal(EMPTY);
    const data = temporaryDirectory();
    const ended = runProgram(
      ["login", "--no-check", "--data", data],
      terminal.io,
    );
    await terminal.shows("Which one? [1-3] > ");
    terminal.paste(KEY);
    await terminal.shows("not taken as an answer, it was pasted, or came");
    await terminal.play(["Which one? [1-3] > ", "\u0004"]);
    expect(await ended).toBe(130);
    expect(terminal.said).not.toContain("secret");
  });

  it("sends a key to no base URL that the config file has for another API", async () => {
    await using gemini = await startFakeGemini();
    const data = temporaryDirectory();
    const ollama = createServer((_request, response) =>
      response.writeHead(200).end("{}"),
    ).listen(0, "127.0.0.1");
    await once(ollama, "listening");
    let requests = 0;
    ollama.on("request", () => requests++);
    const { port } = ollama.address() as AddressInfo;
    const config = `[model]\nname = "openai:qwen3:8b"\nbase_url = "http://127.0.0.1:${port}/v1"\n`;
    await writeFile(join(data, "config.toml"), config, { mode: 0o600 });
    const env = { ...EMPTY, GOOGLE_GEMINI_BASE_URL: gemini.url };
    const login = (api: string) =>
      runCommand(["login", api, "--data", data], { stdin: KEY, env });
    const { code, out, err } = await login("gemini");
    expect(code, err).toBe(0);
    expect(out).toContain(`Gemini at ${new URL(gemini.url).host} takes`);
    expect(requests).toBe(0);
    expect((await login("openai")).out).toContain(
      `asking OpenAI's API at 127.0.0.1:${port} for`,
    );
    expect(requests).toBeGreaterThan(0);
    ollama.close();
  });

  it("writes nothing when Ctrl-C comes before the end of standard input", async () => {
    const { io, err } = pipedIo({ env: EMPTY });
    const asked = Promise.withResolvers<() => void>();
    const stdin = new PassThrough();
    const ended = runProgram(
      ["login", "openai", "--data", temporaryDirectory()],
      {
        ...io,
        stdin,
        onInterrupt: (listener) => {
          asked.resolve(listener);
          return () => undefined;
        },
      },
    );
    (await asked.promise)();
    expect([await ended, err()]).toEqual([130, "nothing was written\n"]);
  });

  it("says which variables go before the key, and takes no empty one for one", async () => {
    const data = temporaryDirectory();
    const login = (env: Readonly<Record<string, string>>) =>
      runCommand(["login", "gemini", "--no-check", "--data", data], {
        stdin: KEY,
        env: { ...EMPTY, ...env },
      });
    const { err } = await login({ GOOGLE_API_KEY: "other" });
    expect(err).toMatch(/^GOOGLE_API_KEY is set in the environment, and goes/);
    const env = { ...EMPTY, GEMINI_API_KEY: "" };
    expect((await login(env)).err).toBe("");
    const { out } = await runCommand(["config", "--data", data], { env });
    expect(out).toMatch(
      /^model +gemini-.+ GEMINI_API_KEY in model-keys\.env$/m,
    );
    const doctor = await runCommand(["doctor", "--data", data], { env });
    expect(doctor.out).toMatch(/^. model +gemini-/m);
    const init = await runCommand(["init", "--no-try", "--data", data], {
      env,
    });
    expect(init.out).toContain("config.toml for gemini-");
  });

  it("reads a key from standard input, and keeps those of other APIs", async () => {
    const data = temporaryDirectory();
    for (const api of ["anthropic", "openai"]) {
      const login = await runCommand(
        ["login", api, "--no-check", "--data", data],
        { stdin: `sk-${api}\n`, env: EMPTY },
      );
      expect(login.code, login.err).toBe(0);
    }
    expect(await readFile(join(data, "model-keys.env"), "utf8")).toBe(
      "ANTHROPIC_API_KEY=sk-anthropic\nOPENAI_API_KEY=sk-openai\n",
    );
    const removed = await runCommand(["logout", "openai", "--data", data]);
    expect(removed.code).toBe(0);
    expect(await readFile(join(data, "model-keys.env"), "utf8")).toBe(
      "ANTHROPIC_API_KEY=sk-anthropic\n",
    );
    const again = await runCommand(["logout", "openai", "--data", data]);
    expect([again.code, again.err]).toEqual([
      1,
      `${data}/model-keys.env has no OPENAI_API_KEY\n`,
    ]);
  });

  it.each([401, 503])(
    "writes no key that the API answers with %d",
    async (status) => {
      const server = createServer((_request, response) =>
        response.writeHead(status).end("{}"),
      ).listen(0, "127.0.0.1");
      await once(server, "listening");
      const { port } = server.address() as AddressInfo;
      const data = temporaryDirectory();
      const { code, err } = await runCommand(
        ["login", "openai", "--data", data],
        {
          stdin: KEY,
          env: { ...EMPTY, OPENAI_BASE_URL: `http://127.0.0.1:${port}/v1` },
        },
      );
      server.close();
      expect(code).toBe(1);
      expect(err).toMatch(
        /^devtool: OpenAI's API at 127\.0\.0\.1:\d+ was asked for its models with the key, and failed \(.+\): nothing was written; --no-check writes it unasked\n$/,
      );
      expect(err).not.toContain("secret");
      expect(err).not.toContain("send the message again");
      await expect(stat(join(data, "model-keys.env"))).rejects.toThrow(
        "ENOENT",
      );
    },
  );

  it.each([
    [
      "login codex",
      /^devtool: Codex keeps a login of its own: run codex login/,
    ],
    [
      "login mistral",
      /"mistral" is not the API of a model: choose gemini, openai/,
    ],
    ["login", /nobody can be asked: name the API of the model, gemini, openai/],
    ["login openai", /standard input has no key: devtool login openai <FILE/],
  ])("refuses %s, and says what to do", async (line, problem) => {
    const argv = [...line.split(" "), "--data", temporaryDirectory()];
    const { code, err } = await runCommand(argv, { env: EMPTY });
    expect([code, err]).toEqual([2, expect.stringMatching(problem)]);
  });

  it("does not show what is no key", async () => {
    const data = temporaryDirectory();
    const { code, err } = await runCommand(
      ["login", "openai", "--no-check", "--data", data],
      { stdin: "a secret\nof two lines", env: EMPTY },
    );
    expect([code, err]).toEqual([2, expect.stringContaining("not a key")]);
    expect(err).not.toContain("secret");
  });

  it("reads no file of keys that others can read, or that sets anything else", async () => {
    const data = temporaryDirectory();
    const path = join(data, "model-keys.env");
    await writeFile(path, `OPENAI_API_KEY=${KEY}\nNODE_OPTIONS=--secret\n`);
    await chmod(path, 0o644);
    const open = await runCommand(["config", "--data", data], { env: EMPTY });
    expect([open.code, open.err]).toEqual([
      1,
      expect.stringContaining(`is open to other users: chmod 600 ${path}`),
    ]);
    await chmod(path, 0o600);
    const other = await runCommand(["config", "--data", data], { env: EMPTY });
    expect([other.code, other.err]).toEqual([
      1,
      expect.stringContaining("sets NODE_OPTIONS: it takes GEMINI_API_KEY,"),
    ]);
    expect(other.err).not.toContain("secret");
  });
});
