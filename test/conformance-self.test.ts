import { mkdtemp, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { type CaseResult, findSubject, REQUIREMENTS, runServerSuite } from "@devtool/conformance";
import { createServer } from "@devtool/server";
import { describe, expect, it } from "vitest";
import type { Fault } from "./conformance/faults/fault.ts";
import { FAULTS } from "./conformance/faults.ts";
import { type Spoil, startSpoilingProxy } from "./conformance/spoiling-proxy.ts";

type Way = Pick<Fault, "protocolVersion" | "binding">;

/** What is red about our own server: it goes on from tasks that have ended (STREAM-5). */
const ALWAYS_RED: Readonly<Record<Way["protocolVersion"], readonly string[]>> = {
  "0.3": [],
  "1.0": ["A2A1-ENDED-TASK"],
};

describe.concurrent("the conformance kit, played against broken servers", { timeout: 240_000 }, () => {
  for (const protocolVersion of ["0.3", "1.0"] as const) {
    it(`finds nothing else wrong when nothing is, over A2A ${protocolVersion}`, async () => {
      const red = await whatFails({}, { protocolVersion, binding: "JSONRPC" });
      expect(red).toEqual(ALWAYS_RED[protocolVersion]);
    });
  }

  for (const { requirement, fault, spoil, ...way } of FAULTS) {
    it(`notices that ${fault}: ${requirement} is red, and nothing else`, async () => {
      const red = await whatFails(spoil(), way);
      expect(red).toEqual([...new Set([...ALWAYS_RED[way.protocolVersion], requirement])].toSorted());
    });
  }
});

describe("the faults", () => {
  it("are at least one for each requirement that a server suite shows", () => {
    const broken = new Set(FAULTS.map(({ requirement }) => requirement));
    const shown = Object.entries(REQUIREMENTS).filter(([, { owed }]) => owed === undefined);
    const elsewhere = new Set(["A2A1-GRPC-STATUS", ...ALWAYS_RED["1.0"]]);
    expect(shown.map(([id]) => id).filter((id) => !broken.has(id) && !elsewhere.has(id))).toEqual([]);
  });
});

/** The requirements that are red when a server is spoilt, in order of their names. */
async function whatFails(spoil: Spoil, way: Way): Promise<string[]> {
  const workspace = await mkdtemp(join(tmpdir(), "devtool-self-"));
  try {
    await using server = await createServer({ workspace, dataDirectory: `${workspace}-data` });
    await using proxy = await startSpoilingProxy(server.url, spoil);
    const signal = AbortSignal.timeout(230_000);
    const subject = await findSubject({ url: proxy.url, token: server.token, ...way }, signal);
    const results: CaseResult[] = [];
    for await (const result of runServerSuite(subject, signal, { timeoutMs: 30_000 })) results.push(result);
    const failures = results.flatMap((result) => result.failures ?? []);
    return [...new Set(failures.flatMap(({ requirements }) => requirements))].toSorted();
  } finally {
    await rm(workspace, { recursive: true, force: true });
    await rm(`${workspace}-data`, { recursive: true, force: true });
  }
}
