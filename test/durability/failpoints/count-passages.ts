/**
 * Is loaded into a server (`--import`): counts how often it passes failpoints
 * from SIGUSR2 on, and writes that as JSON when it gets another one.
 */
import { subscribe } from "node:diagnostics_channel";
import { writeFileSync } from "node:fs";

/** What is counted, and the file that gets the counts by name. */
export interface CountOrder {
  readonly failpoints: readonly string[];
  readonly file: string;
}

/** The variable of the environment that holds the order, as JSON. */
export const COUNT_ORDER = "DEVTOOL_TEST_COUNT_ORDER";

const text = process.env[COUNT_ORDER];
if (text !== undefined) count(JSON.parse(text));

function count({ failpoints, file }: CountOrder): void {
  const counts: Record<string, number> = {};
  process.once("SIGUSR2", () => {
    for (const name of failpoints) {
      subscribe(name, () => {
        counts[name] = (counts[name] ?? 0) + 1;
      });
    }
    process.once("SIGUSR2", () => writeFileSync(file, JSON.stringify(counts)));
  });
}
