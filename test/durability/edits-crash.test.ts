import { describe, expect, it } from "vitest";
import { LEFT_TO_CI, roundsOf } from "../depth.ts";
import { untilCaught } from "./crash/until-caught.ts";
import { runEditCycles } from "./edits-crash/edit-cycles.ts";

const cycles = roundsOf("DEVTOOL_EDIT_CRASHES", { quick: 2, ci: 5, deep: 100 });
const { random } = Math;

describe.skipIf(LEFT_TO_CI !== "")(
  `a server that is killed while it edits files${LEFT_TO_CI}`,
  { timeout: (20 + cycles) * 60_000, concurrent: true },
  () => {
    it(`makes each edit once and says so, in ${cycles} crashes (R1 for edits)`, async () => {
      const report = await runEditCycles({
        cycles,
        random,
        kill: "at any time",
        sabotage: "none",
      });
      console.info(`R1 for edits: ${JSON.stringify(report)}`);
      expect(report).toMatchObject({
        misreported: 0,
        failed: 0,
        stuck: 0,
        leftovers: 0,
      });
      expect(report.made).toBeGreaterThan(cycles);
    });

    it(`finds out what became of an edit that was cut`, async () => {
      await untilCaught(async () => {
        const report = await runEditCycles({
          cycles: 2,
          random,
          kill: "after an edit",
          sabotage: "none",
        });
        expect(report).toMatchObject({
          misreported: 0,
          failed: 0,
          stuck: 0,
          leftovers: 0,
        });
        return report.settled;
      });
    });

    it(`is caught when it forgets that an edit had begun (sabotage of R1 for edits)`, async () => {
      await untilCaught(async () => {
        const report = await runEditCycles({
          cycles: 2,
          random,
          kill: "after an edit",
          sabotage: "forget-start",
        });
        return report.misreported + report.failed;
      });
    });
  },
);
