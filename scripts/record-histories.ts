/**
 * Records the histories that test/durability/histories.test.ts replays, those that are
 * missing and no others: what an earlier version wrote is kept as it is. Run it
 * with
 * `node --experimental-transform-types --conditions=@devtool/source scripts/record-histories.ts`.
 */
import { mkdir, writeFile } from "node:fs/promises";
import {
  DIRECTORY,
  historyNames,
} from "../test/durability/histories/history.ts";
import { recordHistory } from "../test/durability/histories/record.ts";
import { SCENARIOS } from "../test/durability/histories/scenarios.ts";

await mkdir(DIRECTORY, { recursive: true });
const kept = new Set(historyNames());
for (const scenario of SCENARIOS.filter(({ name }) => !kept.has(name))) {
  const { log, task } = await recordHistory(scenario);
  await writeFile(new URL(`${scenario.name}.task.jsonl`, DIRECTORY), task);
  await writeFile(new URL(`${scenario.name}.jsonl`, DIRECTORY), log);
  console.log(`${scenario.name}: ${log.split("\n").length - 1} events`);
}
