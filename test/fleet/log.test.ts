import { setTimeout as delay } from "node:timers/promises";
import { callWithRetry, textMessage } from "@devtool/client";
import {
  findPostgres,
  startPostgres,
  withoutPostgres,
} from "@devtool/postgres/testing";
import { describe, expect, it } from "vitest";
import { ServerFleet } from "./server-fleet.ts";

const bin = findPostgres();
/** How long the database is away at least, in milliseconds. */
const AWAY_MS = 6000;
/** How many tasks are begun meanwhile, at least. */
const ASKED_MEANWHILE = 100;

describe.skipIf(bin === undefined)(
  `the log of servers that share a database${withoutPostgres(bin)}`,
  () => {
    it("counts an outage under load, and says which server took over what", async () => {
      await using database = await startPostgres(bin ?? "");
      await using fleet = await ServerFleet.start({
        ...{ database, schema: "logged", replicas: 2, lease: "3s" },
        flags: ["--log-level", "info"],
      });
      const load = new AbortController();
      const asked: Promise<unknown>[] = [];
      const asking = askUntil(fleet, load.signal, asked);
      await expect.poll(() => asked.length).toBeGreaterThan(10);
      await database.stop();
      const before = asked.length;
      await expect.poll(() => probe(fleet, 0)).toBe(503);
      await delay(AWAY_MS);
      await expect
        .poll(() => asked.length - before, { timeout: 60_000 })
        .toBeGreaterThanOrEqual(ASKED_MEANWHILE);
      await database.start();
      await expect
        .poll(() => [0, 1].filter((index) => isBack(fleet, index)), {
          timeout: 60_000,
        })
        .toEqual([0, 1]);
      load.abort();
      await asking;
      await expect.poll(() => probe(fleet, 0)).toBe(200);

      const request = {
        message: textMessage("m", "wait 60000"),
        returnImmediately: true,
      };
      const { task } = await callWithRetry(
        (signal) => fleet.client(0).tasks.sendMessage(request, { signal }),
        {},
        AbortSignal.timeout(60_000),
      );
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

/**
 * Begins up to fifty tasks a second at both servers.
 *
 * @param asked gets each, as it begins
 */
async function askUntil(
  fleet: ServerFleet,
  signal: AbortSignal,
  asked: Promise<unknown>[],
): Promise<void> {
  const clients = [fleet.client(0), fleet.client(1)] as const;
  while (!signal.aborted) {
    const { tasks } = clients[asked.length % 2 === 0 ? 0 : 1];
    const message = textMessage(`m${asked.length}`, "text Hi.");
    asked.push(tasks.sendMessage({ message }).catch(() => undefined));
    await delay(20);
  }
  await Promise.all(asked);
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
