// The public API of @devtool/sandbox.
export { findDenial } from "./denial.ts";
export {
  type Extension,
  extendedAccess,
  extensionWords,
  SandboxGrants,
} from "./extension.ts";
export { findSandbox, lazySandbox } from "./find-sandbox.ts";
export { foreseeAccess } from "./foreseen-access.ts";
export { trackedFiles } from "./git-index.ts";
export { HostPrograms } from "./host-programs.ts";
export { noSandbox } from "./no-sandbox.ts";
export { isPlaceholder } from "./placeholder.ts";
export type {
  GuardedPlaces,
  ProcessLimits,
  Sandbox,
  SandboxAccess,
} from "./sandbox.ts";
export { SandboxError } from "./sandbox-error.ts";
export { sortSearchPath } from "./search-path.ts";
export {
  type ProcessEnd,
  type RunningProcess,
  startPiped,
  startProcess,
} from "./start-process.ts";
export { workTreesAround } from "./work-trees.ts";
