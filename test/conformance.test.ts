import { readFileSync } from "node:fs";
import { mkdtemp, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import {
  type CaseResult,
  findSubject,
  REQUIREMENTS,
  readKnownFailing,
  runServerSuite,
  type ServerTarget,
  serverCases,
} from "@devtool/conformance";
import { createServer, type DevtoolServer, type ServerOptions } from "@devtool/server";
import { afterAll, beforeAll, describe, expect, it } from "vitest";

const KNOWN_FILE = new URL("conformance/devtool.known-failing.json", import.meta.url);

type Way = Required<Pick<ServerTarget, "protocolVersion" | "binding">>;

const WAYS: readonly Way[] = [
  { protocolVersion: "0.3", binding: "JSONRPC" },
  { protocolVersion: "0.3", binding: "HTTP+JSON" },
  { protocolVersion: "1.0", binding: "JSONRPC" },
  { protocolVersion: "1.0", binding: "HTTP+JSON" },
  { protocolVersion: "1.0", binding: "GRPC" },
];

const KNOWN: Readonly<Record<Way["protocolVersion"], readonly string[]>> = {
  "0.3": [],
  "1.0": readKnownFailing(readFileSync(KNOWN_FILE, "utf8")).failures.map(({ id }) => id),
};

describe("our server", { timeout: 120_000 }, () => {
  let workspace: string;
  let server: DevtoolServer;
  const serve = async (options: ServerOptions = {}): Promise<DevtoolServer> => createServer({ workspace, ...options });
  beforeAll(async () => {
    workspace = await mkdtemp(join(tmpdir(), "devtool-conformance-"));
    server = await serve({ dataDirectory: `${workspace}-data` });
  });
  afterAll(async () => {
    await server.close();
    await rm(workspace, { recursive: true, force: true });
    await rm(`${workspace}-data`, { recursive: true, force: true });
  });

  async function play(target: ServerTarget): Promise<CaseResult[]> {
    const signal = AbortSignal.timeout(120_000);
    const results: CaseResult[] = [];
    for await (const result of runServerSuite(await findSubject(target, signal), signal)) results.push(result);
    return results;
  }

  for (const way of WAYS) {
    it(`passes every case of A2A ${way.protocolVersion} over ${way.binding}, but those that are known to fail`, async () => {
      const results = await play({ url: server.url, token: server.token, ...way });
      const failing = results.filter(({ status }) => status === "failed");
      expect(failing.filter(({ id }) => !KNOWN[way.protocolVersion].includes(id))).toEqual([]);
      expect(failing.map(({ id }) => id)).toEqual(KNOWN[way.protocolVersion]);
      expect(results.filter(({ status }) => status === "passed").length).toBeGreaterThan(40);
    });
  }

  it("meets by some binding every requirement that a server suite shows, but what it offers more than", async () => {
    const passed = new Set<string>();
    for (const way of WAYS) {
      const results = await play({ url: server.url, token: server.token, ...way });
      for (const { requirements } of results.filter(({ status }) => status === "passed"))
        for (const id of requirements) passed.add(id);
    }
    const open = Object.entries(REQUIREMENTS).filter(([id, { owed }]) => owed === undefined && !passed.has(id));
    expect(open.map(([id]) => id).toSorted()).toEqual(["A2A03-NOT-OFFERED", "A2A1-ENDED-TASK", "A2A1-NOT-OFFERED"]);
  });
});

describe("the requirements", () => {
  const cases = (["0.3", "1.0"] as const).flatMap((version) => serverCases(version).cases);
  const tested = new Set(cases.flatMap(({ requirements }) => requirements));

  it("each have a case, or say why they have none", () => {
    const open = Object.entries(REQUIREMENTS).filter(([id, { owed }]) => tested.has(id) === (owed !== undefined));
    expect(open).toEqual([]);
  });

  it("are all that cases name, and steps name those of their cases", () => {
    expect([...tested].filter((id) => !(id in REQUIREMENTS))).toEqual([]);
    const foreign = cases.flatMap(({ id, requirements, steps }) =>
      steps.flatMap((step) => step.requirements.filter((one) => !requirements.includes(one)).map((one) => [id, one])),
    );
    expect(foreign).toEqual([]);
  });

  it("of one version are tested by its suite alone", () => {
    const wrong = (["0.3", "1.0"] as const).flatMap((version) =>
      serverCases(version).cases.flatMap(({ id, requirements }) =>
        requirements
          .filter((one) => (REQUIREMENTS[one]?.protocolVersion ?? version) !== version)
          .map((one) => [id, one]),
      ),
    );
    expect(wrong).toEqual([]);
  });
});
