import { describe, expect, it } from "vitest";
import { runEditCycles } from "./edits-crash/edit-cycles.ts";

const cycles = Math.ceil(Number(process.env.DEVTOOL_CRASH_CYCLES ?? 200) / 5);

describe("a server that is killed while it edits files", () => {
  it(`makes each edit once and says so, in ${cycles} crashes (R1 for edits)`, { timeout: 20 * 60_000 }, async () => {
    const report = await runEditCycles({ cycles, random: Math.random, sabotage: "none" });
    console.info(`R1 for edits: ${JSON.stringify(report)}`);
    expect(report).toMatchObject({ misreported: 0, failed: 0, stuck: 0, leftovers: 0 });
    expect(report.made).toBeGreaterThan(cycles);
    expect(report.settled).toBeGreaterThan(0);
  });

  it("is caught when it forgets that an edit had begun (sabotage of R1 for edits)", { timeout: 120_000 }, async () => {
    const report = await runEditCycles({ cycles: 5, random: Math.random, sabotage: "forget-start" });
    expect(report.misreported + report.failed).toBeGreaterThan(0);
  });
});
