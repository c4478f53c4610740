import { describe, expect, it } from "vitest";
import { runEditCycles } from "./edits-crash/edit-cycles.ts";

const cycles = Math.ceil(Number(process.env.DEVTOOL_CRASH_CYCLES ?? 200) / 10);

describe("a server that is killed while it edits files", () => {
  it(`makes each edit once and says so, in ${cycles} crashes (R1 for edits)`, { timeout: 20 * 60_000 }, async () => {
    const report = await runEditCycles({ cycles, random: Math.random, sabotage: "none" });
    console.info(`R1 for edits: ${JSON.stringify(report)}`);
    expect(report).toMatchObject({ misreported: 0, failed: 0, stuck: 0, leftovers: 0 });
    expect(report.made).toBeGreaterThan(cycles);
  });

  it("finds out what became of an edit that was cut", { timeout: 20 * 60_000 }, async () => {
    // A kill must fall into the moment between the start of an edit and its record.
    const settled = await untilSome(async () => {
      const report = await runEditCycles({ cycles: 5, random: Math.random, sabotage: "none" });
      expect(report).toMatchObject({ misreported: 0, failed: 0 });
      return report.settled;
    });
    expect(settled).toBeGreaterThan(0);
  });

  it("is caught when it forgets that an edit had begun (sabotage of R1 for edits)", {
    timeout: 10 * 60_000,
  }, async () => {
    const caught = await untilSome(async () => {
      const report = await runEditCycles({ cycles: 5, random: Math.random, sabotage: "forget-start" });
      return report.misreported + report.failed;
    });
    expect(caught).toBeGreaterThan(0);
  });
});

/** Counts again and again until there is something, ten times at most. */
async function untilSome(count: () => Promise<number>): Promise<number> {
  for (let round = 1; ; round++) {
    const found = await count();
    if (found > 0 || round === 10) return found;
  }
}
