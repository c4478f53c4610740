import { createHash } from "node:crypto";
import { serveCodingAgent } from "@devtool/coding-agent";
import {
  type CaseResult,
  findSubject,
  REQUIREMENTS,
  runServerSuite,
} from "@devtool/conformance";
import type { Case } from "@devtool/conformance/protos";
import { temporaryDirectory } from "@devtool/internal/testing/temporary-directory";
import { createMcp } from "@devtool/mcp";
import { MemoryTaskStore } from "@devtool/server/testing";
import { describe, expect, it } from "vitest";
import { roundsOf, seedOf } from "../depth.ts";
import type { Fault } from "./faults/fault.ts";
import { FAULTS } from "./faults.ts";
import { PLAIN_FAULTS } from "./plain/faults.ts";
import { type Spoil, startSpoilingProxy } from "./spoiling-proxy.ts";

type Way = Pick<Fault, "protocolVersion" | "binding">;

/**
 * The requirement that our own server fails by choice: it continues tasks that
 * have ended (STREAM-5).
 */
const ALWAYS_RED: Readonly<Record<Way["protocolVersion"], readonly string[]>> =
  {
    "0.3": [],
    "1.0": ["A2A1-ENDED-TASK"],
  };

/**
 * Besides the cases of the requirement that it breaks, a fault is played
 * against one in this many of the others. CI plays a 24th, which the seed
 * draws, and `test:deep` all.
 */
const ONE_IN = roundsOf("DEVTOOL_FAULT_CASES", { quick: 24, ci: 24, deep: 1 });
/** One fault of this many is played. */
const FAULT_IN = roundsOf("DEVTOOL_FAULTS", { quick: 15, ci: 1, deep: 1 });
/**
 * For all cases of a fault, of which the deep tier plays 24 times as many as
 * CI.
 */
const LIMIT_MS = 600_000 + Math.round(3_600_000 / ONE_IN);
const seed = seedOf();

describe.concurrent("the conformance kit, played against broken servers", {
  timeout: LIMIT_MS,
}, () => {
  for (const protocolVersion of ["0.3", "1.0"] as const) {
    it(`finds no other fault in a correct server, over A2A ${protocolVersion}`, async () => {
      const select = (one: Case): boolean => isDrawn("nothing", one);
      const { red, changes } = await whatFails(
        {},
        { protocolVersion, binding: "JSONRPC" },
        select,
      );
      expect(
        red.filter((id) => !ALWAYS_RED[protocolVersion].includes(id)),
      ).toEqual([]);
      expect(changes).toBe(0);
    });
  }

  const played = FAULTS.filter(
    (_fault, index) => (index + seed) % FAULT_IN === 0,
  );
  for (const { requirement, fault, spoil, also, ...way } of played) {
    const expected = [...also, ...ALWAYS_RED[way.protocolVersion]];
    it(`notices that ${fault}: ${requirement} is red, and nothing else`, async () => {
      const select = (one: Case): boolean =>
        one.requirements.includes(requirement) || isDrawn(fault, one);
      const { red, changes } = await whatFails(spoil(), way, select);
      expect(
        changes,
        "how often the fault changed a request or an answer",
      ).toBeGreaterThan(0);
      expect(red.filter((id) => !expected.includes(id))).toEqual([requirement]);
    });
  }
});

describe("the faults", () => {
  it("are at least one for each requirement that a server suite shows", () => {
    const all = [...FAULTS, ...PLAIN_FAULTS];
    const broken = new Set(all.map(({ requirement }) => requirement));
    const shown = Object.entries(REQUIREMENTS).filter(
      ([, { untestedBecause }]) => untestedBecause === undefined,
    );
    const elsewhere = new Set(["A2A1-GRPC-STATUS", ...ALWAYS_RED["1.0"]]);
    expect(
      shown
        .map(([id]) => id)
        .filter((id) => !broken.has(id) && !elsewhere.has(id)),
    ).toEqual([]);
  });
});

/**
 * Other cases for each fault, by the seed: the same ones in every quick run.
 */
function isDrawn(fault: string, { id }: Case): boolean {
  return (
    createHash("sha256")
      .update(`${seed} ${fault} ${id}`)
      .digest()
      .readUInt32BE() %
      ONE_IN ===
    0
  );
}

/** The result of the cases against a faulty server. */
interface Outcome {
  /** The requirements that are red, in order of their names. */
  readonly red: readonly string[];
  /** How often the spoil changed anything. */
  readonly changes: number;
}

async function whatFails(
  spoil: Spoil,
  way: Way,
  select: (one: Case) => boolean,
): Promise<Outcome> {
  const workspace = temporaryDirectory();
  // Faults are seen on the wire: a database and a sandbox for each of them
  // would show nothing more.
  await using server = await serveCodingAgent({
    workspace,
    dataDirectory: temporaryDirectory(),
    openStore: () => Promise.resolve(new MemoryTaskStore()),
    sandbox: "none",
    mcp: createMcp({ servers: [] }),
  });
  await using proxy = await startSpoilingProxy(server.url, spoil);
  const signal = AbortSignal.timeout(LIMIT_MS - 10_000);
  const subject = await findSubject(
    { url: proxy.url, token: server.token, ...way },
    signal,
  );
  const results: CaseResult[] = [];
  for await (const result of runServerSuite(subject, signal, {
    select,
    timeoutMs: 120_000,
  })) {
    results.push(result);
  }
  const failures = results.flatMap((result) => result.failures ?? []);
  const red = [
    ...new Set(failures.flatMap(({ requirements }) => requirements)),
  ].toSorted();
  return { red, changes: proxy.changes() };
}
