import { mkdtempSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { PassThrough } from "node:stream";
import { fromJsonString } from "@bufbuild/protobuf";
import { Outcome, ReportSchema } from "@devtool/schema/conformance";
import { createServer, type DevtoolServer } from "@devtool/server";
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import type { Io } from "../packages/cli/src/io.ts";
import { runProgram } from "../packages/cli/src/program.ts";

describe("devtool conformance", () => {
  let directory: string;
  let server: DevtoolServer;
  beforeAll(async () => {
    directory = mkdtempSync(join(tmpdir(), "devtool-conformance-cli-"));
    server = await createServer({ workspace: directory });
  });
  afterAll(async () => {
    await server.close();
    rmSync(directory, { recursive: true });
  });

  async function run(...args: readonly string[]): Promise<{ readonly code: number; readonly out: string }> {
    const stdout = new PassThrough();
    const stderr = new PassThrough();
    const io: Io = {
      stdin: new PassThrough(),
      stdout,
      stderr,
      env: { DEVTOOL_TOKEN: server.token },
      interactive: false,
      onInterrupt: () => () => undefined,
      interrupt: () => undefined,
    };
    const code = await runProgram(["conformance", server.url, "--data", directory, ...args], io);
    return { code, out: `${stdout.read() ?? ""}${stderr.read() ?? ""}` };
  }

  it("speaks what the card lists first, and writes each kind of report", async () => {
    const files = ["html", "xml", "json"].map((name) => join(directory, `report.${name}`));
    const [html = "", xml = "", json = ""] = files;
    const reports = ["--report-html", html, "--report-junit", xml, "--report-json", json];
    const { code, out } = await run("--only", "a2a/card", ...reports);
    expect(out).toMatch(/^passed +a2a\/card +A2A1-CARD$/m);
    expect(out).toContain("2 passed of 2 cases");
    expect(code).toBe(0);
    const report = fromJsonString(ReportSchema, readFileSync(json, "utf8"));
    expect(report).toMatchObject({ agent: "devtool", protocolVersion: "1.0", binding: "JSONRPC", subject: server.url });
    expect(readFileSync(html, "utf8")).toContain("<h1>devtool: A2A 1.0 over JSONRPC</h1>");
    expect(readFileSync(xml, "utf8")).toContain('tests="2" failures="0" skipped="0"');
  });

  it("fails for what is not known to fail, with the evidence", async () => {
    const json = join(directory, "failed.json");
    const { code, out } = await run("--only", "a2a/ended-task", "--report-json", json);
    expect(code).toBe(1);
    expect(out).toMatch(/^failed +A2A1-ENDED-TASK/m);
    const [item] = fromJsonString(ReportSchema, readFileSync(json, "utf8")).cases;
    expect(item?.outcome).toBe(Outcome.FAILED);
    expect(item?.exchanges.map(({ step, status }) => [step, status])).toEqual([
      [1, "200"],
      [2, "200"],
    ]);
    expect(JSON.stringify(item?.exchanges.map(({ requestHeaders }) => requestHeaders))).not.toContain(server.token);
  });

  it("holds the list of known failures to what happens", async () => {
    const known = join(directory, "known.json");
    const list = (...ids: readonly string[]): void =>
      writeFileSync(known, JSON.stringify({ failures: ids.map((id) => ({ id, reason: "by design" })) }));
    list("a2a/ended-task");
    expect((await run("--only", "a2a/ended-task", "--known-failing", known)).code).toBe(0);
    list("a2a/ended-task", "a2a/ende");
    expect((await run("--only", "a2a/ended-task", "--known-failing", known)).code).toBe(1);
    list("a2a/card");
    expect((await run("--only", "a2a/card", "--known-failing", known)).code).toBe(1);
  });

  it("says what there is when the card does not list what is asked for", async () => {
    const { code, out } = await run("--a2a", "0.3", "--binding", "GRPC");
    expect(code).not.toBe(0);
    expect(out).toContain("the agent has no A2A 0.3 over GRPC: its card lists A2A 1.0 over JSONRPC");
  });

  it("skips what no prompt is known for", async () => {
    const prompts = join(directory, "prompts.json");
    writeFileSync(prompts, JSON.stringify({ says: "text hello" }));
    const { code, out } = await run("--only", "a2a/c", "--prompts", prompts);
    expect(code).toBe(0);
    expect(out).toContain("no prompt:works-long is known");
  });
});
