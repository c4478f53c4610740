import { isTerminal } from "@devtool/schema";
import type { ServerSettings } from "@devtool/server";
import type { OperatorConfig } from "./agents/agent-options.ts";
import { taskStateName } from "./task-state-name.ts";

const DAY_MS = 86_400_000;
const MB = 1_000_000;

/** Returns when the server deletes tasks, by the config file. */
export function retentionOptions({
  config,
}: OperatorConfig): Pick<ServerSettings, "retention"> {
  if (!config.retention) return {};
  const { maxAgeDays, maxTasks, maxSizeMb, states } = config.retention;
  for (const [name, value] of Object.entries({
    max_age_days: maxAgeDays,
    max_tasks: maxTasks,
    max_size_mb: maxSizeMb,
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
      maxBytes: maxSizeMb === 0 ? undefined : maxSizeMb * MB,
      states: states.length === 0 ? undefined : states,
    },
  };
}
