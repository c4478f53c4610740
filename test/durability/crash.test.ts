import { describe, expect, it } from "vitest";
import { LEFT_TO_CI, roundsOf, seedOf } from "../depth.ts";
import { runCrashCycles } from "./crash/crash-cycles.ts";
import { untilCaught } from "./crash/until-caught.ts";

const cycles = roundsOf("DEVTOOL_CRASH_CYCLES", {
  quick: 4,
  ci: 40,
  deep: 1000,
});
const seed = seedOf();
/**
 * Servers that are killed side by side, at least ten times each. Most of their
 * lives is waiting.
 */
const LANES = Math.min(4, Math.ceil(cycles / 10));
const NONE_WRONG = {
  lost: 0,
  disordered: 0,
  ranTwice: 0,
  misreported: 0,
  stuck: 0,
};

describe.concurrent("a server that is killed while it works", () => {
  it(`loses nothing that was shown and runs nothing twice in ${cycles} crashes (R1)`, {
    timeout: 10 * 60_000 + cycles * 5_000,
  }, async () => {
    // On a busy machine few lives are long enough for a tool to end in them.
    await untilCaught(async (attempt) => {
      const lanes = Array.from({ length: LANES }, async (_, lane) => {
        const own = seed + attempt * LANES + lane;
        const report = await runCrashCycles({
          cycles: Math.ceil(cycles / LANES),
          seed: own,
          sabotage: "none",
        });
        console.info(`R1 seed ${own}: ${JSON.stringify(report)}`);
        expect(report).toMatchObject(NONE_WRONG);
        return report.toolsRun;
      });
      return (await Promise.all(lanes)).reduce((sum, count) => sum + count, 0);
    });
  });

  const itInCi = it.skipIf(LEFT_TO_CI !== "");
  itInCi(
    `is caught when it forgets events that it had acknowledged (sabotage of R1)${LEFT_TO_CI}`,
    {
      timeout: 10 * 60_000,
    },
    async () => {
      await untilCaught(async (attempt) => {
        const report = await runCrashCycles({
          cycles: 4,
          seed: seed + attempt,
          sabotage: "forget-events",
        });
        return report.lost;
      });
    },
  );

  itInCi(
    `is caught when it forgets that a tool had begun (sabotage of R1)${LEFT_TO_CI}`,
    {
      timeout: 10 * 60_000,
    },
    async () => {
      await untilCaught(async (attempt) => {
        const report = await runCrashCycles({
          cycles: 4,
          seed: seed + attempt,
          sabotage: "forget-start",
        });
        return report.ranTwice;
      });
    },
  );
});
