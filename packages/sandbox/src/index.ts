// The public API of @devtool/sandbox.
export { type FailedCommand, findDenial } from "./denial.ts";
export {
  type Extension,
  extendedAccess,
  extensionWords,
  SandboxGrants,
} from "./extension.ts";
export {
  type FindSandboxOptions,
  findSandbox,
  lazySandbox,
  type SandboxKind,
} from "./find-sandbox.ts";
export { foreseeAccess } from "./foreseen-access.ts";
export { trackedFiles } from "./git-index.ts";
export { HostPrograms } from "./host-programs.ts";
export { noSandbox } from "./no-sandbox.ts";
export { isPlaceholder } from "./placeholder.ts";
export type {
  GuardedLink,
  GuardedPlaces,
  Holding,
  ProcessLimits,
  Sandbox,
  SandboxAccess,
  SandboxedCommand,
  SandboxRequest,
  TakenPlace,
} from "./sandbox.ts";
export { SandboxError, type SandboxErrorReason } from "./sandbox-error.ts";
export {
  type SearchPath,
  sortSearchPath,
  whyUntrusted,
} from "./search-path.ts";
export {
  type ProcessEnd,
  type RunningProcess,
  startProcess,
} from "./start-process.ts";
export { type WorkTree, workTreesAround } from "./work-trees.ts";
