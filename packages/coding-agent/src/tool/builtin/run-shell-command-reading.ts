import { dirname } from "node:path";
import type { ProcessLimits } from "@devtool/sandbox";

/**
 * The limits of a command that runs without approval. They are enough to search
 * a large repository.
 */
export const READING_LIMITS: {
  readonly timeoutMs: number;
  readonly limits: ProcessLimits;
} = {
  timeoutMs: 60_000,
  limits: {
    memoryKib: 1024 * 1024,
    cpuSeconds: 60,
    scratchBytes: 64 * 1024 * 1024,
  },
};

/**
 * The git configuration for commands that run without approval because they
 * only read.
 *
 * A repository can name programs for git to run. The sandbox confines those,
 * and this configuration prevents most of them. It cannot prevent all: a
 * repository chooses the names of its filters and text converters, and an empty
 * `diff.external` is an error.
 */
const GIT_CONFIG: readonly (readonly [key: string, value: string])[] = [
  ["safe.bareRepository", "explicit"],
  ["core.fsmonitor", "false"],
  ["core.hooksPath", "/dev/null"],
  ["core.pager", "cat"],
  ["core.untrackedCache", "false"],
  ["diff.ignoreSubmodules", "dirty"],
  ["log.showSignature", "false"],
  ["status.submoduleSummary", "false"],
];

/**
 * Returns the additional environment variables of a command that runs without
 * approval because it only reads.
 */
export function readingEnvironment(
  workspacePath: string,
): Record<string, string> {
  const entries = GIT_CONFIG.flatMap(([key, value], index) => [
    [`GIT_CONFIG_KEY_${index}`, key],
    [`GIT_CONFIG_VALUE_${index}`, value],
  ]);
  return {
    ...Object.fromEntries(entries),
    GIT_CONFIG_COUNT: String(GIT_CONFIG.length),
    GIT_OPTIONAL_LOCKS: "0",
    GIT_CEILING_DIRECTORIES: dirname(workspacePath),
  };
}
