import { mkdtemp, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { type CaseResult, REQUIREMENTS, runServerSuite, serverCases } from "@devtool/conformance";
import { createServer } from "@devtool/server";
import { describe, expect, it } from "vitest";

describe("our server", () => {
  it("passes every case of the conformance kit", { timeout: 120_000 }, async () => {
    const workspace = await mkdtemp(join(tmpdir(), "devtool-conformance-"));
    await using server = await createServer({ workspace, dataDirectory: `${workspace}-data` });
    const results: CaseResult[] = [];
    for await (const result of runServerSuite(server, AbortSignal.timeout(120_000))) results.push(result);
    expect(results.filter(({ status }) => status !== "passed")).toEqual([]);
    await rm(workspace, { recursive: true, force: true });
    await rm(`${workspace}-data`, { recursive: true, force: true });
  });
});

describe("the requirements", () => {
  const tested = new Set(serverCases().cases.flatMap(({ requirements }) => requirements));

  it("each have a case, or say why they have none", () => {
    const open = Object.entries(REQUIREMENTS).filter(([id, { owed }]) => tested.has(id) === (owed !== undefined));
    expect(open).toEqual([]);
  });

  it("are all that cases name", () => {
    expect([...tested].filter((id) => !(id in REQUIREMENTS))).toEqual([]);
  });
});
