import { spawn, spawnSync } from "node:child_process";
import { once } from "node:events";
import { readFileSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { fileURLToPath } from "node:url";
import { temporaryDirectory } from "@devtool/internal/testing/temporary-directory";
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { LEFT_TO_CI } from "../depth.ts";
import type { ServerProcess } from "../durability/crash/server-process.ts";
import { freePort } from "../free-port.ts";
import { type Collector, collect } from "./collector.ts";
import {
  type LoadRun,
  startLoadRun,
  METRICS_TOKEN as TOKEN,
} from "./load-run.ts";

const DEPLOY = fileURLToPath(new URL("../../deploy", import.meta.url));
const hasPrometheus = spawnSync("promtool", ["--version"]).status === 0;
const without = hasPrometheus ? "" : ": SKIPPED, Prometheus is not installed";

describe("the metrics of `devtool serve`", () => {
  const root = temporaryDirectory();
  let run: LoadRun;
  let server: ServerProcess;
  let collector: Collector;

  const scrape = (headers: Readonly<Record<string, string>>, path = "") =>
    fetch(`${server.info.url}/metrics${path}`, { headers });
  const metrics = async (): Promise<string> =>
    (await scrape({ authorization: `Bearer ${TOKEN}` })).text();

  beforeAll(async () => {
    collector = await collect();
    run = await startLoadRun(root, collector.url);
    server = run.server;
    await run.work();
  }, 120_000);
  afterAll(async () => {
    await run[Symbol.asyncDispose]();
    await collector[Symbol.asyncDispose]();
  });

  it("are for who has their token, which opens nothing else", async () => {
    const statuses: number[] = [];
    for (const [authorization, path] of [
      [`Bearer ${TOKEN}`, ""],
      [`Bearer ${TOKEN}x`, ""],
      [`Bearer ${server.info.token}`, ""],
      ["", `?token=${TOKEN}`],
    ] as const) {
      const { status } = await scrape({ authorization }, path);
      statuses.push(status);
    }
    expect(statuses).toEqual([200, 401, 401, 401]);
    const tasks = await fetch(`${server.info.url}/tasks`, {
      headers: { authorization: `Bearer ${TOKEN}` },
    });
    expect(tasks.status).toBe(401);
  });

  it("say what happened, and hold no id and no content", async () => {
    const text = await metrics();
    const own = `gen_ai_agent_name="own",gen_ai_request_model="m-1"`;
    const step = `${own},gen_ai_provider_name="acme"`;
    const usage = "gen_ai_client_inference_usage";
    for (const line of [
      'rpc_server_call_duration_seconds_count{rpc_method="GetTask",devtool_binding="connect",rpc_status_code="not_found"} 1',
      'gen_ai_execute_tool_duration_seconds_count{gen_ai_tool_name="read_file",devtool_outcome="failed"} 1',
      'gen_ai_execute_tool_duration_seconds_count{gen_ai_tool_name="read_file",devtool_outcome="succeeded"} 1',
      `gen_ai_client_inference_duration_seconds_count{${step},devtool_outcome="succeeded"} 1`,
      `gen_ai_client_inference_time_to_first_chunk_seconds_count{${step}} 1`,
      'gen_ai_invoke_agent_duration_seconds_count{gen_ai_agent_name="own",devtool_outcome="succeeded"} 2',
      ...[own, step].flatMap((labels) => [
        `${usage}_input_tokens_total{${labels}} 1000`,
        `${usage}_cache_read_input_tokens_total{${labels}} 400`,
        `${usage}_output_tokens_total{${labels}} 100`,
        `${usage}_reasoning_output_tokens_total{${labels}} 30`,
        // 600 of 1, 400 of 0.1 and 100 of 10, for each million.
        `devtool_cost_total{${labels}} 0.00164`,
      ]),
      "devtool_approvals_pending 1",
      "devtool_turns_active 2",
      "devtool_ready 1",
      'devtool_queue_size{devtool_queue="inbox"} 0',
      'devtool_queue_oldest_seconds{devtool_queue="inbox"} 0',
      'devtool_tasks_unfinished{devtool_task_state="input-required"} 1',
      'devtool_queue_size{devtool_queue="turns"} 1',
      "devtool_streams_active 1",
    ]) {
      expect(text.split("\n")).toContain(line);
    }
    expect(text).toMatch(
      /^devtool_push_posts_total\{devtool_outcome="failed"\} [1-9]/m,
    );
    expect(text).toMatch(
      /^devtool_queue_size\{devtool_queue="outbox"\} [1-9]/m,
    );
    expect(text).toMatch(
      /^devtool_queue_oldest_seconds\{devtool_queue="outbox"\} [\d.]*[1-9]/m,
    );
    expect(text).toMatch(/^devtool_task_evictions_total [1-9]/m);
    expect(text).toMatch(/^devtool_tasks_open 2\d\d$/m);
    expect(text).toMatch(/^devtool_approval_oldest_seconds [\d.]*[1-9]/m);
    expect(text).toMatch(/^devtool_store_size_bytes [1-9]\d{3,}$/m);
    expect(text).toMatch(/^devtool_store_append_duration_seconds_count [1-9]/m);
    expect(text).toMatch(
      /^devtool_refused_requests_total\{rpc_status_code="unauthenticated"\} [1-9]/m,
    );
    expect(text).not.toMatch(/secret/);
    expect(text).not.toContain(run.askingId);
    expect(text).not.toContain(server.info.token);
  });

  it("are sent to a collector, by the names of the conventions", async () => {
    const labels = {
      "gen_ai.operation.name": "chat",
      "gen_ai.agent.name": "own",
      "gen_ai.request.model": "m-1",
      "gen_ai.provider.name": "acme",
    };
    const usage = "gen_ai.client.inference.usage";
    const tokens = { ...labels, "gen_ai.token.modality": "unknown" };
    for (const [name, unit, attributes, value] of [
      [`${usage}.input_tokens`, "{token}", tokens, 1000],
      [`${usage}.cache_read.input_tokens`, "{token}", tokens, 400],
      [`${usage}.output_tokens`, "{token}", tokens, 100],
      [`${usage}.reasoning.output_tokens`, "{token}", tokens, 30],
      [
        "gen_ai.client.inference.duration",
        "s",
        { ...labels, "devtool.outcome": "succeeded" },
        1,
      ],
      [
        "gen_ai.invoke_agent.duration",
        "s",
        { "gen_ai.agent.name": "own", "devtool.outcome": "succeeded" },
        2,
      ],
      ["devtool.approvals.pending", "{approval}", {}, 1],
    ] as const) {
      await expect
        .poll(() => sentPoints(collector, name, unit), { timeout: 30_000 })
        .toContainEqual([attributes, value]);
    }
    const sent = new Set(collector.metrics().map(({ name }) => name));
    expect(sent.size).toBeGreaterThan(25);
    const calls = collector
      .metrics()
      .find(({ name }) => name === "rpc.server.call.duration")?.histogram;
    expect(calls?.aggregationTemporality).toBe(2);
    const [{ bucketCounts = [], explicitBounds = [] } = {}] =
      calls?.dataPoints ?? [];
    expect(bucketCounts).toHaveLength(explicitBounds.length + 1);
  });

  it.skipIf(!hasPrometheus)(
    `are accepted by promtool, and so are the alerts${without}`,
    async () => {
      const run = (args: readonly string[], input = "") =>
        spawnSync("promtool", args, { input, encoding: "utf8", cwd: DEPLOY });
      const checked = run(["check", "metrics"], await metrics());
      expect([checked.status, checked.stderr]).toEqual([0, ""]);
      const tested = run(["test", "rules", "alerts.test.yaml"]);
      expect(`${tested.stdout}${tested.stderr}`).toContain("SUCCESS");
      expect(tested.status).toBe(0);
    },
  );

  it.skipIf(!hasPrometheus || LEFT_TO_CI !== "")(
    `fill each panel of the dashboard, and have all that the alerts ask for, in a real Prometheus${without}${LEFT_TO_CI}`,
    async () => {
      await using prometheus = await startPrometheus(root, server.info.url);
      // What was counted before the first scrape has no rate.
      await run.work();
      await expect
        .poll(
          async () =>
            (await prometheus.ask("rules")).match(/"health":"ok"/g)?.length,
          { timeout: 60_000 },
        )
        .toBe(8);
      const alerts = readFileSync(join(DEPLOY, "alerts.yaml"), "utf8");
      const names = new Set(
        alerts.match(/\b(devtool|gen_ai|rpc|nodejs)_\w+(?=[ [{])/g),
      );
      expect(names.size).toBeGreaterThan(6);
      const text = readFileSync(join(DEPLOY, "dashboard.json"), "utf8");
      const { panels }: Dashboard = JSON.parse(text);
      const queries = panels.flatMap(({ targets }) =>
        targets.map(({ expr }) =>
          expr
            .replaceAll("$instance", ".*")
            .replaceAll("$__rate_interval", "5m"),
        ),
      );
      expect(queries.length).toBeGreaterThan(25);
      await expect
        .poll(() => emptyOf(prometheus, ["up", ...names, ...queries]), {
          timeout: 90_000,
          interval: 1000,
        })
        .toEqual([]);
    },
    240_000,
  );
});

/** What is read of the dashboard. */
interface Dashboard {
  readonly panels: readonly {
    readonly targets: readonly { readonly expr: string }[];
  }[];
}

/** Returns the queries that give no number. */
async function emptyOf(
  { ask }: Prometheus,
  queries: readonly string[],
): Promise<string[]> {
  const empty: string[] = [];
  for (const query of queries) {
    const answer = await ask(`query?query=${encodeURIComponent(query)}`);
    const { data } = JSON.parse(answer);
    const values: { value: [number, string] }[] = data?.result ?? [];
    const hasNumber = values.some(({ value: [, text] }) => text !== "NaN");
    if (!hasNumber) empty.push(query);
  }
  return empty;
}

/** Returns the attributes and the value of each series that was sent. */
function sentPoints(
  collector: Collector,
  name: string,
  unit: string,
): (readonly [object, number | undefined])[] {
  const metric = collector
    .metrics()
    .find((each) => each.name === name && each.unit === unit);
  const points = metric?.sum ?? metric?.gauge ?? metric?.histogram;
  return (points?.dataPoints ?? []).map(({ attributes, asDouble, count }) => [
    Object.fromEntries(
      attributes.map(({ key, value }) => [key, value.stringValue]),
    ),
    asDouble ?? count,
  ]);
}

interface Prometheus extends AsyncDisposable {
  /** Returns the answer of its API at a path; empty while it starts. */
  readonly ask: (path: string) => Promise<string>;
}

/** Starts Prometheus on loopback. It scrapes a server each second. */
async function startPrometheus(root: string, url: string): Promise<Prometheus> {
  const port = await freePort();
  const config = join(root, "prometheus.yml");
  writeFileSync(
    config,
    `global: { scrape_interval: 1s, evaluation_interval: 1s }
rule_files: ["${DEPLOY}/alerts.yaml"]
scrape_configs:
  - job_name: devtool
    authorization: { credentials_file: "${root}/data/token" }
    static_configs: [{ targets: ["${new URL(url).host}"] }]
`,
  );
  const child = spawn(
    "prometheus",
    [
      `--config.file=${config}`,
      `--storage.tsdb.path=${join(root, "prometheus")}`,
      `--web.listen-address=127.0.0.1:${port}`,
      "--log.level=error",
    ],
    { stdio: "ignore" },
  );
  const ask = (path: string): Promise<string> =>
    fetch(`http://127.0.0.1:${port}/api/v1/${path}`).then(
      (response) => response.text(),
      () => "",
    );
  await expect
    .poll(() => ask("query?query=devtool_ready"), { timeout: 60_000 })
    .toContain('"job":"devtool"');
  return {
    ask,
    async [Symbol.asyncDispose]() {
      child.kill();
      if (child.exitCode === null) await once(child, "exit");
    },
  };
}
