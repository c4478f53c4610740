import { describe, expect, it } from "vitest";
import { runCrashCycles } from "./crash/crash-cycles.ts";

const cycles = Number(process.env.DEVTOOL_CRASH_CYCLES ?? 200);
const seed = Number(process.env.DEVTOOL_SEED ?? Date.now() % 1_000_000);
const NONE_WRONG = { lost: 0, disordered: 0, ranTwice: 0, misreported: 0, stuck: 0 };

describe("a server that is killed while it works", () => {
  it(`loses nothing that was shown and runs nothing twice in ${cycles} crashes (R1)`, {
    timeout: 30 * 60_000,
  }, async () => {
    const report = await runCrashCycles({ cycles, seed, sabotage: "none" });
    console.info(`R1 seed ${seed}: ${JSON.stringify(report)}`);
    expect(report).toMatchObject(NONE_WRONG);
    expect(report.toolsRun).toBeGreaterThan(0);
  });

  it("is caught when it forgets events that it had acknowledged (sabotage of R1)", { timeout: 120_000 }, async () => {
    const report = await runCrashCycles({ cycles: 8, seed, sabotage: "forget-events" });
    expect(report.lost).toBeGreaterThan(0);
  });

  it("is caught when it forgets that a tool had begun (sabotage of R1)", { timeout: 120_000 }, async () => {
    const report = await runCrashCycles({ cycles: 12, seed, sabotage: "forget-start" });
    expect(report.ranTwice).toBeGreaterThan(0);
  });
});
