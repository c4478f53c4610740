import { dirname } from "node:path";

/**
 * What git is told when a command runs because it only reads. A repository can name programs for git to run; the
 * sandbox confines those, and most do not even start. They cannot all be switched off: filters and text converters have
 * names of the repository's choice, and an empty `diff.external` is an error.
 */
const GIT: readonly (readonly [string, string])[] = [
  ["safe.bareRepository", "explicit"],
  ["core.fsmonitor", "false"],
  ["core.hooksPath", "/dev/null"],
  ["core.pager", "cat"],
  ["core.untrackedCache", "false"],
  ["diff.ignoreSubmodules", "dirty"],
  ["log.showSignature", "false"],
  ["status.submoduleSummary", "false"],
];

/** The variables, beside all others, of a command that runs because it only reads. */
export function readingEnvironment(workspace: string): Record<string, string> {
  const settings = GIT.flatMap(([key, value], index) => [
    [`GIT_CONFIG_KEY_${index}`, key],
    [`GIT_CONFIG_VALUE_${index}`, value],
  ]);
  return {
    ...Object.fromEntries(settings),
    GIT_CONFIG_COUNT: String(GIT.length),
    GIT_OPTIONAL_LOCKS: "0",
    GIT_CEILING_DIRECTORIES: dirname(workspace),
  };
}
