import {
  type CaseResult,
  findSubject,
  REQUIREMENTS,
  runServerSuite,
} from "@devtool/conformance";
import { serverCases } from "@devtool/conformance/testing";
import { beforeAll, describe, expect, it } from "vitest";
import { LEFT_TO_CI, variantsOf } from "../depth.ts";
import { knownFailingOf } from "./known-failing.ts";
import { startOurs, WAYS, type Way } from "./peers.ts";

const PLAYED = variantsOf("bindings of A2A", WAYS, 2);

/**
 * All ways share it: on a machine with a load of 35, five of them took more
 * than five minutes.
 */
const LIMIT_MS = 15 * 60_000;

const KNOWN: Readonly<Record<Way["protocolVersion"], readonly string[]>> = {
  "0.3": [],
  "1.0": knownFailingOf("devtool").failures.map(({ id }) => id),
};

describe("our server", () => {
  const played = new Map<Way, readonly CaseResult[]>();
  beforeAll(async () => {
    await Promise.all(
      PLAYED.map(async (way) => played.set(way, await play(way))),
    );
  }, LIMIT_MS);

  /**
   * Plays all cases in one way, against a server of its own: cases of different
   * ways would share files and tasks.
   */
  async function play(way: Way): Promise<CaseResult[]> {
    await using server = await startOurs();
    const signal = AbortSignal.timeout(LIMIT_MS);
    return await Array.fromAsync(
      runServerSuite(await findSubject({ ...server, ...way }, signal), signal),
    );
  }

  for (const way of PLAYED) {
    it(`passes every case of A2A ${way.protocolVersion} over ${way.binding}, but those that are known to fail`, () => {
      const results = played.get(way) ?? [];
      const failing = results.filter(({ status }) => status === "failed");
      expect(
        failing.filter(({ id }) => !KNOWN[way.protocolVersion].includes(id)),
      ).toEqual([]);
      expect(failing.map(({ id }) => id)).toEqual(KNOWN[way.protocolVersion]);
      expect(
        results.filter(({ status }) => status === "passed").length,
      ).toBeGreaterThan(40);
    });
  }

  const all = `meets by some binding every requirement that a server suite shows, but what it offers more than${LEFT_TO_CI}`;
  it.skipIf(LEFT_TO_CI !== "")(all, () => {
    const passed = new Set<string>();
    for (const way of WAYS) {
      const results = played.get(way) ?? [];
      for (const { requirements } of results.filter(
        ({ status }) => status === "passed",
      )) {
        for (const id of requirements) passed.add(id);
      }
    }
    const open = Object.entries(REQUIREMENTS).filter(
      ([id, { untestedBecause }]) =>
        untestedBecause === undefined && !passed.has(id),
    );
    expect(open.map(([id]) => id).toSorted()).toEqual([
      "A2A03-NOT-OFFERED",
      "A2A1-ENDED-TASK",
      "A2A1-NOT-OFFERED",
    ]);
  });
});

describe("the requirements", () => {
  const cases = (["0.3", "1.0"] as const).flatMap(
    (version) => serverCases(version).cases,
  );
  const tested = new Set(cases.flatMap(({ requirements }) => requirements));

  it("each have a case, or say why they have none", () => {
    const open = Object.entries(REQUIREMENTS).filter(
      ([id, { untestedBecause }]) =>
        tested.has(id) === (untestedBecause !== undefined),
    );
    expect(open).toEqual([]);
  });

  it("are all that cases name, and steps name those of their cases", () => {
    expect([...tested].filter((id) => !(id in REQUIREMENTS))).toEqual([]);
    const foreign = cases.flatMap(({ id, requirements, steps }) =>
      steps.flatMap((step) =>
        step.requirements
          .filter((one) => !requirements.includes(one))
          .map((one) => [id, one]),
      ),
    );
    expect(foreign).toEqual([]);
  });

  it("of one version are tested by its suite alone", () => {
    const wrong = (["0.3", "1.0"] as const).flatMap((version) =>
      serverCases(version).cases.flatMap(({ id, requirements }) =>
        requirements
          .filter(
            (one) =>
              (REQUIREMENTS[one]?.protocolVersion ?? version) !== version,
          )
          .map((one) => [id, one]),
      ),
    );
    expect(wrong).toEqual([]);
  });
});
