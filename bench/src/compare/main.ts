/**
 * Plays the same work against this repository and an earlier commit of it, in
 * turns, and compares the processor time of the servers:
 * `bench:compare [BASE] [--seconds=N] [--sabotage=NAME]`. Prints
 * `name base now ratio` for each row; ends with 1 where a row is slower than
 * bench/prices.md allows, and with 2 where the base cannot be built.
 */
import { existsSync, readFileSync } from "node:fs";
import { join } from "node:path";
import { baseCommit } from "../../../scripts/earlier-commit.ts";
import { closeConnections } from "../client.ts";
import { median, numberNamed } from "../load/row.ts";
import { sabotageNamed } from "../load/sabotage.ts";
import { ROOT } from "../subject.ts";
import { staleTables } from "../table.ts";
import { BaseError, openBase } from "./base.ts";
import { type Pair, playRound, startSides } from "./round.ts";
import { ALLOWED, allowedRatios, judge } from "./verdict.ts";

/** No new round begins after this many seconds of them. */
const SECONDS = numberNamed("seconds", 120);
/** With fewer rounds nothing can be decided. */
const FEWEST_ROUNDS = 6;

const named = process.argv.slice(2).find((arg) => !arg.startsWith("--"));
const commit = named || baseCommit();
for (const sentence of staleTables()) {
  console.log(`# bench/README.md: ${sentence}`);
}
if (commit === undefined) {
  console.log("skipped: there is no earlier commit to compare with");
} else {
  process.exitCode = await compareWith(commit);
}
closeConnections();

async function compareWith(commit: string): Promise<number> {
  const began = performance.now();
  try {
    using base = openBase(commit);
    const allowed = allowedRatios(pricesOf(ROOT), pricesOf(base.directory));
    await using sides = await startSides(base.directory, sabotageNamed());
    const built = performance.now();
    const secondsSince = (time: number): number =>
      (performance.now() - time) / 1000;
    const rounds: ReadonlyMap<string, Pair>[] = [];
    const isDecided = (): boolean =>
      rounds.length >= FEWEST_ROUNDS &&
      rowsOf(rounds, allowed).every(({ result }) => !result.startsWith("not"));
    while (!isDecided() && secondsSince(built) < SECONDS) {
      rounds.push(await playRound(sides, rounds.length));
    }
    console.log(
      `# base: ${base.name}; ${rounds.length} rounds; ${secondsSince(began).toFixed(0)} s, ${secondsSince(built).toFixed(0)} s of them rounds`,
    );
    return printRows(rowsOf(rounds, allowed));
  } catch (reason) {
    if (!(reason instanceof BaseError)) throw reason;
    console.log(`not compared: ${reason.message}`);
    return 2;
  }
}

/** The rows so far, with their verdicts. */
function rowsOf(
  rounds: readonly ReadonlyMap<string, Pair>[],
  allowed: ReadonlyMap<string, number>,
) {
  const names = new Set(rounds.flatMap((round) => [...round.keys()]));
  return [...names].map((name) => {
    const pairs = rounds.flatMap((round) => round.get(name) ?? []);
    const bound = allowed.get(name) ?? ALLOWED;
    return {
      name,
      bound,
      base: median(pairs.map(({ base }) => base)),
      now: median(pairs.map(({ now }) => now)),
      ...judge(
        pairs.map(({ base, now }) => now / base),
        bound,
      ),
    };
  });
}

function printRows(rows: ReturnType<typeof rowsOf>): number {
  console.log("# name base now ratio [interval] allowed result");
  for (const { name, base, now, ratio, low, high, bound, result } of rows) {
    const [from, to, by] = [low, high, ratio].map((value) => value.toFixed(2));
    console.log(
      `${name} ${base.toPrecision(4)} ${now.toPrecision(4)} ${by} [${from} ${to}] <=${bound} ${result}`,
    );
  }
  return rows.some(({ result }) => result === "slower") ? 1 : 0;
}

function pricesOf(repository: string): string {
  const path = join(repository, "bench/prices.md");
  return existsSync(path) ? readFileSync(path, "utf8") : "";
}
