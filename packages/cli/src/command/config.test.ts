import { mkdir, readFile, writeFile } from "node:fs/promises";
import { join } from "node:path";
import { temporaryDirectory } from "@devtool/internal/testing/temporary-directory";
import { describe, expect, it } from "vitest";
import { operatorConfig, SANDBOXES } from "../agents/agent-options.ts";
import { listenOptions } from "../listen-options.ts";
import { runCommand } from "../testing/run-command.ts";

const EMPTY = { NO_COLOR: "1", PATH: "/nowhere" };

describe("devtool config", () => {
  it("shows the defaults where nothing is set, as a server has them", async () => {
    const data = temporaryDirectory();
    const { code, out } = await runCommand(["config", "--data", data], {
      env: EMPTY,
    });
    expect(code).toBe(0);
    expect(rows(out)).toEqual({
      "data directory": [data, "--data"],
      "config file": [
        `${data}/config.toml`,
        'missing: "devtool init" makes it',
      ],
      model: ["scripted"],
      agents: ["devtool", "default"],
      approval_mode: ["default", "default"],
      client_mcp_servers: ["http", "default"],
      "console.enabled": ["true", "default"],
      host: ["127.0.0.1", "default"],
      "log.level": ["info", "default"],
      port: ["41242", "default"],
      sandbox: ["auto", "default"],
      "store.url": ["tasks.db in the data directory", "default"],
    });
    const operator = await operatorConfig(undefined, data);
    const { host, port } = await listenOptions({}, operator);
    expect([host, port, SANDBOXES[operator.config.sandbox]]).toEqual([
      "127.0.0.1",
      41242,
      "auto",
    ]);
  });

  it("shows what the file and the environment set", async () => {
    const data = temporaryDirectory();
    const text = `port = 0\napproval_mode = "auto_edit"\n[console]\nenabled = false\n[agent_calls]\nsilence_timeout = "600s"\n`;
    await writeFile(join(data, "config.toml"), text, { mode: 0o600 });
    const keys = join(data, "model-keys.env");
    await writeFile(keys, "ANTHROPIC_API_KEY=sk-secret\n", { mode: 0o600 });
    const env = { ...EMPTY, DEVTOOL_DATA: data, OPENAI_API_KEY: "sk-secret" };
    const { out } = await runCommand(["config"], { env });
    expect(rows(out)).toMatchObject({
      "data directory": [data, "$DEVTOOL_DATA"],
      "config file": [`${data}/config.toml`],
      model: [
        "gpt-5.5 (OpenAI's API; Anthropic with --model)",
        "$OPENAI_API_KEY, ANTHROPIC_API_KEY in model-keys.env",
      ],
      "agent_calls.silence_timeout": ["600s", "config file"],
      approval_mode: ["auto_edit", "config file"],
      "console.enabled": ["false", "config file"],
      port: ["0", "config file"],
    });
    expect(out).not.toContain("secret");
  });

  it("shows no header, variable, argument, password or query", async () => {
    const data = temporaryDirectory();
    const page = await readFile(
      new URL("../../../../docs/configuration.md", import.meta.url),
      "utf8",
    );
    const [, all = ""] = /```toml\n([\s\S]*?)```/.exec(page) ?? [];
    const text = `${all
      .replaceAll("Bearer …", "Bearer secret")
      .replace("devtool@db", "devtool:secret@db")
      .replace(
        '"https://gemini.example"',
        '"https://me:secret@gemini.example/?key=secret"',
      )
      .replace("NODE_ENV", "A_SECRET")
      .replace('"production"', '"secret"')
      .replace('"/srv/files"', '"--token", "secret"')
      .replace("agents/publisher.mjs", "acp:run --token secret")
      .replace('name = "publisher"', "")}`;
    await writeFile(join(data, "config.toml"), text, { mode: 0o600 });
    const { code, out, err } = await runCommand(["config", "--data", data], {
      env: EMPTY,
    });
    expect(code, err).toBe(0);
    expect(out.toLowerCase()).not.toContain("secret");
    expect(rows(out)).toMatchObject({
      "model.base_url": ["https://gemini.example/", "config file"],
      "store.url": ["postgres://devtool@db.example/devtool", "config file"],
      "telemetry.headers": ["Authorization", "config file"],
      agents: ["acp:run, devtool", "config file"],
      mcp_servers: ["files, tickets", "config file"],
      "retention.states": ["completed, canceled", "config file"],
      "budget.callers": ["(a table)", "config file"],
    });
  });

  it.each([
    ["postgres://devtool:p#ss@db/x", "postgres://…"],
    ["postgres://u:pa/ss@h/db", "postgres://…"],
    ["postgres://u:s3cret@h1:5432,h2:5432/db", "postgres://…"],
    ["postgresql+ssl://u:pa ss@h:x/db", "postgresql+ssl://…"],
    // A URL that can be taken apart, with the password as its port and its path.
    ["postgres://u:1/pass@h/db", "postgres://…"],
    ["postgres://u:1#pass@h/db", "postgres://…"],
    ["postgres://u:p@ss@h/db#secret", "postgres://u@h/db"],
  ])("shows no password of the store %s", async (url, shown) => {
    const data = temporaryDirectory();
    const text = `[store]\nurl = ${JSON.stringify(url)}\n`;
    await writeFile(join(data, "config.toml"), text, { mode: 0o600 });
    const { out } = await runCommand(["config", "--data", data], {
      env: EMPTY,
    });
    expect(rows(out)["store.url"]).toEqual([shown, "config file"]);
  });
});

describe("devtool config path", () => {
  it("prints where the file is, or would be", async () => {
    const env = { ...EMPTY, DEVTOOL_DATA: "/nowhere/data" };
    const { out } = await runCommand(["config", "path"], { env });
    expect(out).toBe("/nowhere/data/config.toml\n");
    const named = ["config", "path", "--config", "/etc/devtool.toml"];
    expect((await runCommand(named, { env })).out).toBe("/etc/devtool.toml\n");
  });
});

describe("devtool config check", () => {
  it.each([
    ["", 0, /^there is no \/.+\/config\.toml: the defaults hold\n$/],
    ["port = 8443\n", 0, /^\/.+\/config\.toml can be used\n$/],
    ["ports = 1\n", 1, /config file ".+" cannot be used: .*ports/],
    [
      'token_file = "token"\n',
      1,
      /token file ".+\/token" cannot be read: write/,
    ],
    [
      'policy_files = ["rules.toml"]\n',
      1,
      /policy file ".+\/rules\.toml" .*(missing|exist|ENOENT|cannot be read)/,
    ],
    [
      '[metrics]\ntoken_file = "token"\n',
      1,
      /token file ".+\/token" cannot be read: write/,
    ],
    ["[metrics]\n", 1, /metrics\.token_file is missing/],
    ['[[agents]]\nmodule = "own.mjs"\n', 1, /agents "own\.mjs"/],
    ['[model]\nname = "anthropic:"\n', 1, /has no key: set ANTHROPIC_API_KEY/],
  ])("reads %j as a server that starts", async (text, code, says) => {
    const data = temporaryDirectory();
    const path = join(data, "config.toml");
    if (text !== "") await writeFile(path, text, { mode: 0o600 });
    const checked = await runCommand(["config", "check", "--data", data], {
      env: EMPTY,
    });
    expect(`${checked.out}${checked.err}`).toMatch(says);
    expect(checked.code).toBe(code);
  });
});

describe("devtool config check of the data directory", () => {
  it("reads the rules of the user, and names a workflow that is left out", async () => {
    const data = temporaryDirectory();
    const check = () =>
      runCommand(["config", "check", "--data", data], { env: EMPTY });
    await mkdir(join(data, "workflows"));
    await writeFile(join(data, "workflows/broken.yaml"), "{");
    expect(await check()).toMatchObject({
      code: 0,
      err: expect.stringMatching(/broken\.yaml.+; it is left out\n$/s),
    });
    await writeFile(join(data, "policy.toml"), "[[rule]]\n", { mode: 0o600 });
    expect(await check()).toMatchObject({
      code: 1,
      err: expect.stringContaining("policy.toml"),
    });
  });
});

/** Returns the cells of the lines by the first one. */
function rows(out: string): Readonly<Record<string, readonly string[]>> {
  const cells = out
    .trim()
    .split("\n")
    .map((line) => line.split(/ {2,}/));
  return Object.fromEntries(cells.map(([name = "", ...rest]) => [name, rest]));
}
