import { stat } from "node:fs/promises";
import { join } from "node:path";
import { isTerminal } from "@devtool/schema";
import type { ServerSettings } from "@devtool/server";
import type { OperatorConfig } from "./agents/agent-options.ts";
import { taskStateName } from "./task-state-name.ts";

const DAY_MS = 86_400_000;

/** Returns when the server deletes tasks, by the config file. */
export function retentionOptions({
  config,
}: OperatorConfig): Pick<ServerSettings, "retention"> {
  if (!config.retention) return {};
  const { maxAgeDays, maxTasks, states } = config.retention;
  for (const [name, value] of Object.entries({
    max_age_days: maxAgeDays,
    max_tasks: maxTasks,
  })) {
    if (value < 0) {
      throw new Error(`retention.${name} ${value} is negative: 0 keeps all`);
    }
  }
  const waiting = states.find((state) => !isTerminal(state));
  if (waiting !== undefined) {
    throw new Error(
      `retention.states "${taskStateName(waiting)}" is not one in which a task has ended: choose completed, failed, canceled, rejected`,
    );
  }
  return {
    retention: {
      maxAgeMs: maxAgeDays === 0 ? undefined : maxAgeDays * DAY_MS,
      maxTasks: maxTasks || undefined,
      states: states.length === 0 ? undefined : states,
    },
  };
}

/** The size in megabytes from which an operator is told of it. */
const LARGE_MB = 100;

/**
 * Says how large the tasks of a data directory are, when they are large and
 * nothing is deleted; empty otherwise.
 */
export async function sizeNotice(
  data: string,
  { retention, openStore }: Pick<ServerSettings, "retention" | "openStore">,
): Promise<string> {
  if (retention || openStore) return "";
  const sizes = ["tasks.db", "tasks.db-wal"].map((name) =>
    stat(join(data, name)).then(
      ({ size }) => size,
      () => 0,
    ),
  );
  const bytes = (await Promise.all(sizes)).reduce((sum, size) => sum + size, 0);
  const megabytes = Math.round(bytes / 1e6);
  return megabytes < LARGE_MB
    ? ""
    : `the tasks take ${megabytes} MB, and none is deleted: see [retention] in docs/configuration.md, or devtool tasks prune`;
}
