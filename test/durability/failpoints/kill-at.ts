/**
 * Is loaded into a server by the test of its failpoints (`--import`): ends the
 * process at one of them, so that nothing of it runs any more, not even the
 * next line.
 */
import { spawnSync } from "node:child_process";
import { subscribe } from "node:diagnostics_channel";
import { writeFileSync } from "node:fs";

/** Where a process is to end. */
export interface KillOrder {
  readonly failpoint: string;
  /** At which passage, from 1. */
  readonly passage: number;
  /** From when passages count: from the start, or from SIGUSR2 on. */
  readonly from: "start" | "signal";
  /** What is run there in place of the end of the process. Default: nothing. */
  readonly command?: readonly string[];
  /** The file that says how it went. Default: nothing says so. */
  readonly report?: string;
}

/** What the report of an order says from SIGUSR2 on. */
export const ARMED = "armed";

/** What the report of an order says that was carried out. */
export const CARRIED_OUT = "carried out";

/** The variable of the environment that holds the order, as JSON. */
export const KILL_ORDER = "DEVTOOL_TEST_KILL_ORDER";

const text = process.env[KILL_ORDER];
if (text !== undefined) obey(JSON.parse(text));

function obey(order: KillOrder): void {
  const { failpoint, passage, from, command, report } = order;
  let left = passage;
  const tell = (said: string): void => {
    if (report !== undefined) writeFileSync(report, said);
  };
  const arm = (): void =>
    subscribe(failpoint, () => {
      if (--left > 0) return;
      const [program, ...args] = command ?? [];
      if (program === undefined) {
        tell(CARRIED_OUT);
        process.kill(process.pid, "SIGKILL");
      } else if (left === 0) {
        const { error, status, stderr } = spawnSync(program, args);
        tell(status === 0 ? CARRIED_OUT : `${error ?? stderr}`);
      }
    });
  if (from === "start") {
    arm();
  } else {
    process.once("SIGUSR2", () => {
      arm();
      tell(ARMED);
    });
  }
}
