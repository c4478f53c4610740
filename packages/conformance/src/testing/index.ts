// The names of @devtool/conformance/testing: internals for tests of this
// repository. Not part of the published package.

export type { BindingName, ProtocolVersion } from "../binding/binding.ts";
export { playClient } from "../command/play-client.ts";
export { playProgram } from "../command/play-program.ts";
export {
  type CuttingProxy,
  startCuttingProxy,
} from "../replay/cutting-proxy.ts";
export type { A2aInterface } from "../replay/replay-a2a-v1.ts";
export { LEVEL_NAMES } from "../report/table.ts";
export { levelOf } from "../requirement/requirement.ts";
export { agentCases } from "../runner/run-agent-suite.ts";
export {
  type ClientSuiteOptions,
  clientCases,
} from "../runner/run-client-suite.ts";
export { jsonGoldens } from "../runner/run-json-suite.ts";
export { programCases } from "../runner/run-program-suite.ts";
export { type PushSuiteOptions, pushCases } from "../runner/run-push-suite.ts";
export { serverCases } from "../runner/run-server-suite.ts";
export type { ServerTarget, Subject } from "../subject/find-subject.ts";
