import { setTimeout as delay } from "node:timers/promises";
import { textMessage } from "@devtool/client";
import {
  findPostgres,
  startPostgres,
  withoutPostgres,
} from "@devtool/postgres/testing";
import { describe, expect, it } from "vitest";
import { ServerFleet } from "./server-fleet.ts";

const bin = findPostgres();
/** How long the database is away, in milliseconds. */
const AWAY_MS = 6000;

describe.skipIf(bin === undefined)(
  `the log of servers that share a database${withoutPostgres(bin)}`,
  () => {
    it("counts an outage under load, and says which server took over what", async () => {
      await using database = await startPostgres(bin ?? "");
      await using fleet = await ServerFleet.start({
        ...{ database, schema: "logged", replicas: 2 },
        flags: ["--log-level", "info"],
      });
      const load = new AbortController();
      const asked = askUntil(fleet, load.signal);
      await delay(1000);
      await database.stop();
      await delay(AWAY_MS / 2);
      expect(await probe(fleet, 0)).toBe(503);
      await delay(AWAY_MS / 2);
      await database.start();
      await expect
        .poll(() => [0, 1].filter((index) => isBack(fleet, index)), {
          timeout: 60_000,
        })
        .toEqual([0, 1]);
      load.abort();
      expect(await asked).toBeGreaterThan(100);
      await expect.poll(() => probe(fleet, 0)).toBe(200);

      const { task } = await fleet.client(0).tasks.sendMessage({
        message: textMessage("m", "wait 60000"),
        returnImmediately: true,
      });
      await fleet.server(0).kill();
      await expect
        .poll(() => linesOf(fleet, 1), { timeout: 60_000 })
        .toContainEqual(
          expect.objectContaining({ event: "takeover", taskId: task?.id }),
        );
      await fleet.server(1).stop();

      expect(linesOf(fleet, 0)).toEqual(
        expect.arrayContaining([
          expect.objectContaining({ level: "error", event: "not ready" }),
          expect.objectContaining({ level: "info", event: "ready" }),
        ]),
      );
      for (const index of [0, 1]) {
        const failures = linesOf(fleet, index).filter(
          ({ event, outcome }) => event === "fault" || outcome === "failed",
        );
        expect(failures.length).toBeGreaterThan(0);
        expect(failures.length).toBeLessThan(20);
      }
      const counted = linesOf(fleet, 1).map(({ repeated = 0 }) => repeated);
      expect(Math.max(...counted)).toBeGreaterThan(20);
    }, 180_000);
  },
);

/** Returns the status with which a server says whether it is ready. */
async function probe(fleet: ServerFleet, index: number): Promise<number> {
  const { url } = fleet.server(index).info;
  const { status } = await fetch(`${url}/readyz`);
  return status;
}

/** Begins fifty tasks a second at both servers. Returns how many. */
async function askUntil(
  fleet: ServerFleet,
  signal: AbortSignal,
): Promise<number> {
  const clients = [fleet.client(0), fleet.client(1)] as const;
  const asked: Promise<unknown>[] = [];
  while (!signal.aborted) {
    const { tasks } = clients[asked.length % 2 === 0 ? 0 : 1];
    const message = textMessage(`m${asked.length}`, "text Hi.");
    asked.push(tasks.sendMessage({ message }).catch(() => undefined));
    await delay(20);
  }
  await Promise.all(asked);
  return asked.length;
}

interface LogLine {
  readonly event: string;
  readonly outcome?: string;
  readonly problem?: string;
  readonly taskId?: string;
  readonly repeated?: number;
}

/** Returns the lines of a server, each of which must be JSON. */
function linesOf(fleet: ServerFleet, index: number): readonly LogLine[] {
  const { stderr } = fleet.server(index).said;
  const whole = stderr.slice(0, stderr.lastIndexOf("\n") + 1);
  return whole
    .split("\n")
    .filter((line) => line !== "")
    .map((line) => JSON.parse(line));
}

/**
 * Returns whether a server has said that its store is back. A connection that
 * answers once more while the database stops has it said twice.
 */
function isBack(fleet: ServerFleet, index: number): boolean {
  return linesOf(fleet, index).some(
    ({ event, problem }) =>
      event === "notice" && problem === "the store can be reached again",
  );
}
