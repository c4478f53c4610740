import { execFile } from "node:child_process";
import { readdir, readFile, writeFile } from "node:fs/promises";
import { join } from "node:path";
import { PassThrough } from "node:stream";
import { promisify } from "node:util";
import { create, type DescMessage } from "@bufbuild/protobuf";
import type { Io } from "@devtool/cli/testing";
import { readConfig, runProgram } from "@devtool/cli/testing";
import { objectOrEmpty } from "@devtool/internal/json";
import { temporaryDirectory } from "@devtool/internal/testing/temporary-directory";
import { BudgetConfigSchema, McpServerSchema } from "@devtool/schema";
import {
  ModelConfigSchema,
  ServerConfigSchema,
} from "@devtool/schema/operator";
import {
  AgentCallsConfigSchema,
  AgentConfigSchema,
  AgentRegistryConfigSchema,
  AuthenticationConfigSchema,
  ConsoleConfigSchema,
  JwtConfigSchema,
  LogConfigSchema,
  McpHttpSchema,
  McpStdioSchema,
  MetricsConfigSchema,
  RemoteAgentConfigSchema,
  RetentionConfigSchema,
  StoreConfigSchema,
  TelemetryConfigSchema,
  TlsConfigSchema,
} from "@devtool/schema/testing";
import { beforeAll, describe, expect, it } from "vitest";

const execute = promisify(execFile);

describe("docs/configuration.md", () => {
  let text: string;
  let base: string;
  beforeAll(async () => {
    text = await readFile(
      new URL("../../docs/configuration.md", import.meta.url),
      "utf8",
    );
    base = temporaryDirectory();
  });

  it("shows a config file that sets every field there is", async () => {
    const path = join(base, "all.toml");
    await writeFile(path, /```toml\n([\s\S]*?)```/.exec(text)?.[1] ?? "");
    const config = await readConfig(path, base);
    for (const { name, localName } of ServerConfigSchema.fields) {
      expect(Reflect.get(config, localName), name).not.toEqual(
        Reflect.get(create(ServerConfigSchema), localName),
      );
    }
    expect(config.model).toMatchObject({
      name: expect.stringMatching(/./),
      vertexLocation: "global",
    });
    expect(config.mcpServers.map(({ transport }) => transport.case)).toEqual([
      "stdio",
      "http",
    ]);
  });

  it("lists every field", () => {
    const fields = [
      ...names(ServerConfigSchema, ""),
      ...names(ModelConfigSchema, "model."),
      ...names(McpServerSchema, "mcp_servers."),
      ...names(AgentConfigSchema, "agents."),
      ...names(RemoteAgentConfigSchema, "remote_agents."),
      ...names(AgentCallsConfigSchema, "agent_calls."),
      ...names(AgentRegistryConfigSchema, "agent_registry."),
      ...names(AuthenticationConfigSchema, "authentication."),
      ...names(JwtConfigSchema, "authentication.jwt."),
      ...names(TlsConfigSchema, "tls."),
      ...names(StoreConfigSchema, "store."),
      ...names(ConsoleConfigSchema, "console."),
      ...names(LogConfigSchema, "log."),
      ...names(BudgetConfigSchema, "budget."),
      ...names(TelemetryConfigSchema, "telemetry."),
      ...names(MetricsConfigSchema, "metrics."),
      ...names(RetentionConfigSchema, "retention."),
    ];
    const tables = new Set([
      "agents",
      "remote_agents",
      "agent_calls",
      "agent_registry",
      "model",
      "mcp_servers",
      "authentication",
      "authentication.jwt",
      "tls",
      "store",
      "console",
      "log",
      "budget",
      "telemetry",
      "metrics",
      "retention",
    ]);
    for (const name of fields.filter((field) => !tables.has(field))) {
      expect(text).toContain(`\`${name}\``);
    }
    for (const name of [
      ...names(McpStdioSchema, ""),
      ...names(McpHttpSchema, ""),
    ]) {
      expect(text).toContain(`\`${name}\``);
    }
  });

  it("lists every flag of the server", async () => {
    const help = await say(["serve", "--help"]);
    const flags = [...help.matchAll(/^ {2}(--[a-z-]+(?: <[^>]+>)?)/gm)].map(
      ([, flag]) => flag,
    );
    expect(flags.length).toBeGreaterThan(5);
    const rows = [...text.matchAll(/^\| `(--[^`]+)`/gm)].map(
      ([, flag]) => flag,
    );
    expect(rows.toSorted()).toEqual(flags.toSorted());
  });

  it("lists what lies in a data directory, and goes through an audit as it shows", async () => {
    const data = join(base, "data");
    await using server = await serving([
      "--data",
      data,
      "--workspace",
      join(base, "workspace"),
    ]);
    const connected = ["--data", data];
    await say([
      "run",
      "--approve",
      "all",
      ...connected,
      "--workspace",
      join(base, "workspace"),
      "write a.txt one",
    ]);
    const documented = [...text.matchAll(/^\| `([\w.-]+)` +\| /gm)].map(
      ([, name = ""]) => name,
    );
    const present = (await readdir(data)).map((name) =>
      name.replace(/-(wal|shm)$/, ""),
    );
    expect(documented).toEqual(expect.arrayContaining(present));
    expect(present).toEqual(
      expect.arrayContaining(["server.json", "tasks.db", "checkpoints.git"]),
    );

    const verdict = await say(["audit", "verify", ...connected]);
    const [head = ""] = /[A-Za-z0-9+/]{43}=/.exec(verdict) ?? [];
    const again = await say(["audit", "verify", "--head", head, ...connected]);
    const session = `$ devtool audit verify\n${verdict}$ devtool audit verify --head ${head}\n${again}`;
    const shown = /<!-- transcript: audit -->\n```\n([\s\S]*?)```/.exec(
      text,
    )?.[1];
    expect(session.replaceAll(head, "kQ3…=")).toBe(shown);
    const exported = await say(["audit", "export", ...connected]);
    expect(exported).toMatch(/^\{"number":"1".*"AUDIT_ACTION_ASKED"/);
    expect(exported).toContain(`"hash":"${head}"`);
    // As the auditor does it, after a deletion.
    const [task = ""] = /"taskId":"([^"]+)"/.exec(exported)?.slice(1) ?? [];
    await say(["tasks", "delete", task, "--yes", ...connected]);
    const info: unknown = JSON.parse(
      await readFile(join(data, "server.json"), "utf8"),
    );
    const { url, token } = objectOrEmpty(info);
    const [, steps = ""] =
      /<!-- keys: verify -->\n```sh\n([\s\S]*?)```/.exec(text) ?? [];
    const checked = await execute(
      "sh",
      [
        "-euc",
        steps
          .replace(/^devtool (.*)$/m, "echo $1")
          .replaceAll("https://agent.example", String(url)),
      ],
      {
        cwd: base,
        env: { ...process.env, AUDIT_TOKEN: String(token), HEAD: head },
      },
    );
    const argv = checked.stdout
      .trim()
      .split(" ")
      .map((word) => (word.startsWith("keys-") ? join(base, word) : word));
    expect(await say(argv)).toMatch(
      /^verified 5 records;.*\ntask .* was removed by local at .*, signed\n$/,
    );
    expect(server.says()).toContain("devtool serves");
  });
});

function names({ fields }: DescMessage, prefix: string): string[] {
  return fields.map(({ name }) => prefix + name);
}

/** Runs a command line to its end and gives what it says. */
async function say(argv: readonly string[]): Promise<string> {
  const { io, says } = terminal();
  await runProgram(argv, io);
  return says();
}

/** A server as the command runs it. */
async function serving(
  argv: readonly string[],
): Promise<AsyncDisposable & { says(): string }> {
  const { io, says, interrupt, ready } = terminal();
  const ended = runProgram(["serve", "--port", "0", ...argv], io);
  await Promise.race([ready, ended]);
  return {
    says,
    async [Symbol.asyncDispose]() {
      interrupt();
      await ended;
    },
  };
}

function terminal() {
  const stdout = new PassThrough();
  const ready = Promise.withResolvers<void>();
  let said = "";
  stdout.on("data", (chunk: Buffer) => {
    said += chunk.toString();
    ready.resolve();
  });
  let interrupt = (): void => undefined;
  const io: Io = {
    stdin: new PassThrough(),
    stdout,
    stderr: new PassThrough(),
    env: {},
    interactive: false,
    onInterrupt(listener) {
      interrupt = listener;
      return () => undefined;
    },
    interrupt: () => undefined,
  };
  return {
    io,
    says: () => said,
    interrupt: () => interrupt(),
    ready: ready.promise,
  };
}
