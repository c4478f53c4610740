import { hash } from "node:crypto";
import { mkdirSync } from "node:fs";
import { readFile, writeFile } from "node:fs/promises";
import { join } from "node:path";
import { runCommand } from "@devtool/cli/testing";
import { textMessage } from "@devtool/client";
import { putFile } from "@devtool/internal/testing/files";
import { temporaryDirectory } from "@devtool/internal/testing/temporary-directory";
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { clientOf } from "../client-of.ts";
import {
  type ServerProcess,
  startServing,
} from "../durability/crash/server-process.ts";
import { leaksIn, type Sink } from "../sandbox/secrets/leaks.ts";
import { type Collector, collect } from "./collector.ts";

const LETTERS =
  "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789";

let made = 0;

/**
 * A text of letters and digits without an order, which is the secret of a
 * shape. Each run has the same: one text in a hundred looks like a word.
 */
function core(length: number, letters = LETTERS): string {
  const bytes = [0, 1, 2, 3].flatMap((part) => [
    ...hash("sha256", `${made} ${part}`, "buffer"),
  ]);
  made++;
  return bytes
    .slice(0, length)
    .map((byte) => letters.charAt(byte % letters.length))
    .join("");
}

const HEX = "0123456789abcdef";
const LOWER = "abcdefghijklmnopqrstuvwxyz0123456789";
const UPPER = "ABCDEFGHIJKLMNOPQRSTUVWXYZ234567";

/** Where a secret stands, and what of it nobody may see. */
type Shape = () => readonly [text: string, secret: string];

function shape(before: string, length: number, after = "", letters = LETTERS) {
  return (): readonly [string, string] => {
    const secret = core(length, letters);
    return [`${before}${secret}${after}`, secret];
  };
}

const SHAPES: Readonly<Record<string, Shape>> = {
  "OpenAI key": shape("sk-proj-", 48),
  "Anthropic key": shape("sk-ant-api03-", 60),
  "Google key": shape("AIza", 35),
  "Google token": shape("ya29.", 60),
  "GitHub token": shape("ghp_", 36),
  "GitHub fine-grained token": shape("github_pat_", 60),
  "GitLab token": shape("glpat-", 20),
  "Slack token": shape("xoxb-123456789012-", 24),
  "Slack webhook": shape("https://hooks.slack.com/services/T0001/B0001/", 24),
  "Discord webhook": shape("https://discord.com/api/webhooks/123456/", 60),
  "Stripe key": shape("sk_live_", 24),
  "npm token": shape("npm_", 36),
  "PyPI token": shape("pypi-AgEIcHlwaS5vcmc", 60),
  "Hugging Face token": shape("hf_", 34),
  "DigitalOcean token": shape("dop_v1_", 64, "", HEX),
  "Databricks token": shape("dapi", 32, "", HEX),
  "SendGrid key": shape("SG.", 66),
  "Telegram token": shape("123456789:AA", 33),
  "age key": shape("AGE-SECRET-KEY-1", 58, "", UPPER),
  "webhook secret": shape("whsec_", 32),
  "AWS id": shape("AKIA", 16, "", UPPER),
  "AWS secret": shape("aws_secret_access_key = ", 40),
  "Azure key": shape("AccountName=x;AccountKey=", 86, "=="),
  JWT: () => {
    const claims = Buffer.from(`{"sub":"${core(12)}"}`).toString("base64url");
    const signature = core(43);
    return [`eyJhbGciOiJIUzI1NiJ9.${claims}.${signature}`, signature];
  },
  "PEM key": () => {
    const body = core(64);
    const kind = "PRIVATE KEY-----";
    return [`-----BEGIN ${kind}\n${body}\n-----END ${kind}`, body];
  },
  "cut PEM key": shape("-----BEGIN RSA PRIVATE KEY-----\n", 64),
  "bearer token": shape("Authorization: Bearer ", 40),
  "basic credentials": shape("authorization: Basic ", 40),
  "password in a URL": shape("postgres://app:", 24, "@db.example/app"),
  "user token in a URL": shape("https://", 40, "@git.example/x.git"),
  "token in a query": shape("https://x.example/a?access_token=", 32, "&b=1"),
  ".env line": shape("DB_PASSWORD=", 24),
  "quoted .env line": shape('export API_KEY="', 24, '"'),
  "TOML line": shape('client_secret = "', 24, '"'),
  "YAML line": shape("  password: ", 24),
  "JSON field": shape('{"refreshToken": "', 40, '"}'),
  "escaped JSON field": shape('{\\"apiKey\\":\\"', 32, '\\"}'),
  "header of a key": shape("x-api-key: ", 32),
  cookie: shape("Cookie: theme=dark; session=", 32),
  "set cookie": shape("Set-Cookie: sid=", 32, "; HttpOnly"),
  // Forms that no rule names: of what secret scanners look for.
  "Shopify token": shape("shpat_", 32, "", HEX),
  "New Relic key": shape("NRAK-", 27, "", UPPER),
  "Linear key": shape("lin_api_", 40),
  "Postman key": shape("PMAK-0123456789abcdef01234567-", 34, "", HEX),
  "Doppler token": shape("dp.pt.", 43, "", LOWER),
  "Grafana token": shape("glsa_", 32, "_01234567"),
  "Notion token": shape("ntn_", 46),
  "Vault token": shape("hvs.", 92),
  "Terraform token": shape("abcdefghijklm0.atlasv1.", 64),
  "PlanetScale token": shape("pscale_tkn_", 43),
  "RubyGems key": shape("rubygems_", 48, "", HEX),
  "ReadMe key": shape("rdme_", 70, "", LOWER),
  "Azure client secret": shape("abc8Q~", 34),
  "OpenShift token": shape("sha256~", 43),
  "Artifactory key": shape("AKCp", 69),
  "Pulumi token": shape("pul-", 40, "", HEX),
  "GitLab trigger token": shape("glptt-", 40, "", HEX),
  "Airtable token": shape("patAbCdEfGhIjKl12.", 64, "", HEX),
  "Supabase token": shape("sbp_", 40, "", HEX),
  "Slack workflow": shape("https://hooks.slack.com/workflows/T1/", 24),
  "key of another name": shape("ALGOLIA_KEY=", 32, "", HEX),
  "option of a command": shape("--api-token ", 24),
  "option of curl": shape("curl -u me:", 16, " https://x.example"),
  "PGP key": shape("-----BEGIN PGP PRIVATE KEY BLOCK-----\n", 64),
  "quoted value": shape('password = "', 16, ';,&"'),
};

const EACH = 16;

describe(`${Object.keys(SHAPES).length * EACH} secrets of many shapes`, () => {
  const canaries: Record<string, string> = {};
  const sinks: Sink[] = [];
  const texts: string[] = [];
  let collector: Collector;
  let server: ServerProcess;
  let own: Record<string, string>;
  let audit = "";
  beforeAll(async () => {
    for (const [name, make] of Object.entries(SHAPES)) {
      for (let at = 0; at < EACH; at++) {
        const [text, secret] = make();
        canaries[`${name} ${at}`] = secret;
        texts.push(text);
      }
    }
    collector = await collect();
    const root = temporaryDirectory();
    const data = join(root, "data");
    const workspace = join(root, "workspace");
    mkdirSync(data, { mode: 0o700 });
    own = {
      "metrics token": core(40),
      "model key": core(40),
      "collector key": core(40),
      "header of an MCP server": core(40),
    };
    const write = (name: string, text: string) =>
      writeFile(join(data, name), text, { mode: 0o600 });
    await write("metrics-token", own["metrics token"] ?? "");
    await write(
      "config.toml",
      `[telemetry]
endpoint = "${collector.url}"
content = true
headers = { x-collector = "${own["collector key"]}" }

[metrics]
token_file = "metrics-token"

[log]
level = "debug"

[[mcp_servers]]
name = "away"
http = { url = "http://127.0.0.1:9/mcp", headers = { x-mcp = "${own["header of an MCP server"]}" } }
`,
    );
    server = await startServing(
      [
        ...["--data", data, "--workspace", workspace, "--log-level", "debug"],
        ...["--push-target", "127.0.0.1:9"],
      ],
      { ...process.env, OTHER_API_KEY: own["model key"] },
    );
    const { url, token } = server.info;
    await session(url, token, workspace);
    const metrics = await fetch(`${url}/metrics`, {
      headers: { authorization: `Bearer ${own["metrics token"]}` },
    });
    expect(metrics.status).toBe(200);
    sinks.push({ name: "metrics", text: await metrics.text() });
    const file = join(root, "b.backup");
    const made = await runCommand(["backup", file, "--data", data]);
    expect([made.code, made.err]).toEqual([0, ""]);
    own["operator's token"] = token;
    await server.stop();
    sinks.push({ name: "logs", text: server.said.stderr });
    sinks.push({ name: "spans", text: collector.text() });
    audit = (await readFile(file)).toString("latin1");
  }, 300_000);
  afterAll(() => collector[Symbol.asyncDispose]());

  it("are in no span, metric or line of the log, though spans have content", () => {
    const spans = collector.text();
    expect(spans).toContain("[hidden]");
    expect(spans).toContain("a word that is no secret");
    expect(server.said.stderr.split("\n").length).toBeGreaterThan(200);
    console.info(
      `${Object.keys(canaries).length} canaries in ${sinks.map(({ name, text }) => `${text.length} characters of ${name}`).join(", ")}`,
    );
    expect(leaksIn(sinks, { ...canaries, ...own }, {})).toEqual([]);
  });

  it("are found where they are (sabotage)", () => {
    const all = [{ name: "texts", text: texts.join("\n") }];
    expect(leaksIn(all, canaries, {})).toHaveLength(texts.length);
  });

  it("that the server has of its own are in no backup, but those of config.toml", () => {
    const { "header of an MCP server": header, "collector key": key } = own;
    const rest = Object.entries(own).filter(
      ([, secret]) => secret !== header && secret !== key,
    );
    const backup = [{ name: "backup", text: audit }];
    expect(leaksIn(backup, Object.fromEntries(rest), {})).toEqual([]);
    expect(audit).toContain(header);
  });

  /** Puts each secret where users, agents and strangers put them. */
  async function session(url: string, token: string, workspace: string) {
    const { tasks, push } = clientOf({ url, token });
    for (let at = 0; at < texts.length; at += EACH) {
      const some = texts.slice(at, at + EACH);
      const name = `part-${at}.txt`;
      putFile(workspace, name, `${some.join("\n")}\n`);
      const script = [
        "text a word that is no secret",
        ...some.map((text) => `text ${text.replaceAll("\n", "\\n")} and`),
        `read ${name}`,
        `call search_file_content ${JSON.stringify({ pattern: "x", path: some.join("\n") })}`,
        `call glob ${JSON.stringify({ pattern: "*", password: canaries["YAML line 0"] })}`,
        `call no_such_tool ${JSON.stringify({ note: some.join("\n") })}`,
      ];
      const { task } = await tasks.sendMessage({
        message: textMessage(crypto.randomUUID(), script.join("\n")),
      });
      const [secret = ""] = some;
      const plain = secret.replaceAll(/[^\x21-\x7e]/g, "");
      await push
        .setPushConfig({
          config: {
            taskId: task?.id ?? "",
            url: `http://127.0.0.1:9/${encodeURIComponent(plain)}`,
            token: plain,
          },
        })
        .catch(() => undefined);
      for (const text of some.slice(0, 4)) {
        const value = text.replaceAll(/[^\x21-\x7e]/g, "");
        await fetch(`${url}/v1/tasks?q=${encodeURIComponent(value)}`, {
          headers: { authorization: `Bearer ${value}`, cookie: value },
        });
        await fetch(`${url}/${encodeURIComponent(value)}`, {
          method: "POST",
          headers: { authorization: `Bearer ${token}`, "x-note": value },
          body: JSON.stringify({ [value]: value }),
        });
      }
    }
  }
});
