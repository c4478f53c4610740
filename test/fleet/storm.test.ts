import {
  findPostgres,
  type PostgresServer,
  startPostgres,
  withoutPostgres,
} from "@devtool/postgres/testing";
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { LEFT_TO_CI, roundsOf } from "../depth.ts";
import { untilCaught } from "../durability/crash/until-caught.ts";
import { NGINX, WITHOUT_NGINX } from "../outer/nginx.ts";
import { ServerFleet } from "./server-fleet.ts";
import { type Blow, runStorm } from "./storm.ts";

const bin = findPostgres();
const why = withoutPostgres(bin) + WITHOUT_NGINX;
const SECONDS = roundsOf("DEVTOOL_FLEET_SECONDS", {
  quick: 10,
  ci: 20,
  deep: 600,
});
const NONE_WRONG = {
  lost: 0,
  disordered: 0,
  ranTwice: 0,
  misreported: 0,
  stuck: 0,
  gaps: 0,
};
const WAYS: readonly Blow[] = ["SIGKILL", "SIGSTOP", "SIGTERM", "SIGKILL"];
const TAKEOVER_MS = 5000;

describe.skipIf(LEFT_TO_CI !== "" || bin === undefined || NGINX === undefined)(
  `three servers behind a balancer, hit one after the other${why}${LEFT_TO_CI}`,
  { concurrent: true },
  () => {
    let database: PostgresServer;
    let schemas = 0;
    beforeAll(async () => {
      database = await startPostgres(bin ?? "");
    });
    afterAll(() => database[Symbol.asyncDispose]());

    const start = (loaded?: URL) =>
      ServerFleet.start({
        database,
        schema: `storm_${++schemas}`,
        replicas: 3,
        lease: "3s",
        flags: ["--approval-mode", "yolo"],
        loaded,
      });

    it(`lose nothing, run nothing twice and leave no gap in ${SECONDS} s (R15)`, {
      timeout: SECONDS * 1000 + 600_000,
    }, async () => {
      await using fleet = await start();
      const { report, takeovers, blows, refusals } = await runStorm(fleet, {
        seconds: SECONDS,
        ways: WAYS,
        patienceMs: 400_000,
      });
      console.info(
        `R15 ${blows} blows in ${SECONDS} s: ${JSON.stringify(report)}`,
      );
      for (const way of ["SIGKILL", "SIGSTOP", "SIGTERM"] as const) {
        printTakeovers(way, takeovers[way]);
      }
      expect(report).toMatchObject(NONE_WRONG);
      expect(report.toolsRun).toBeGreaterThan(0);
      expect(refusals).toEqual([]);
      expect([
        ...takeovers.SIGKILL,
        ...takeovers.SIGSTOP,
        ...takeovers.SIGTERM,
      ]).not.toContain(Number.POSITIVE_INFINITY);
    });

    it(`are caught when their leases have no fences (sabotage of R15)`, {
      timeout: 900_000,
    }, async () => {
      await untilCaught(async () => {
        await using fleet = await start(
          new URL("unfenced.mjs", import.meta.url),
        );
        const { report, refusals } = await runStorm(fleet, {
          seconds: 20,
          ways: ["SIGSTOP"],
          patienceMs: 60_000,
        });
        console.info(
          `R15 without fences: ${JSON.stringify({ ...report, refusals })}`,
        );
        return (
          report.lost +
          report.disordered +
          report.ranTwice +
          report.misreported +
          report.gaps
        );
      });
    });
  },
);

/** Prints how long tasks of a server waited for another one. */
function printTakeovers(way: Blow, times: readonly number[]): void {
  const sorted = times.toSorted((a, b) => a - b);
  const at = (share: number): number =>
    Math.round(sorted[Math.ceil(sorted.length * share) - 1] ?? 0);
  const verdict = at(0.99) <= TAKEOVER_MS ? "PASS" : "FAIL";
  console.info(
    `takeover after ${way}, ${times.length} tasks: p50 ${at(0.5)} ms, p99 ${at(0.99)} ms <= ${TAKEOVER_MS} ms ${verdict}`,
  );
}
