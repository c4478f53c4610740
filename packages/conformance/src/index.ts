/**
 * The public API of `@devtool/conformance`, name by name. Adding a name here
 * adds API.
 *
 * `findSubject` with `runServerSuite` tests a server, `runPushSuite` its
 * notifications, `runClientSuite` and `runAgentSuite` a client, and `runProgramSuite` or
 * `runJsonSuite` readers and writers of JSON. `createReport` turns the results
 * into a report.
 */
export type {
  BindingName,
  ProtocolVersion,
  ServerTrust,
} from "./binding/binding.ts";
export type { CaseFailure, CaseResult } from "./play/case-result.ts";
export {
  Program,
  type ProgramStreams,
  type ProgramWork,
} from "./program/program.ts";
export {
  type CuttingProxy,
  startCuttingProxy,
} from "./replay/cutting-proxy.ts";
export type { A2aInterface } from "./replay/replay-a2a-v1.ts";
export {
  createReport,
  isClean,
  type ReportInput,
  type ReportSubject,
  readingOf,
} from "./report/create-report.ts";
export { htmlPage } from "./report/html.ts";
export { junitXml } from "./report/junit.ts";
export { readKnownFailing } from "./report/known-failing.ts";
export { reportTable } from "./report/table.ts";
export type { Requirement } from "./requirement/requirement.ts";
export { REQUIREMENTS } from "./requirement/requirements.ts";
export { agentCases, runAgentSuite } from "./runner/run-agent-suite.ts";
export {
  type ClientSuiteOptions,
  clientCases,
  runClientSuite,
} from "./runner/run-client-suite.ts";
export {
  type JsonCodec,
  jsonGoldens,
  runJsonSuite,
} from "./runner/run-json-suite.ts";
export {
  type ProgramSuiteOptions,
  programCases,
  runProgramSuite,
} from "./runner/run-program-suite.ts";
export {
  type PushSuiteOptions,
  pushCases,
  runPushSuite,
} from "./runner/run-push-suite.ts";
export {
  runServerSuite,
  type ServerSuiteOptions,
  serverCases,
} from "./runner/run-server-suite.ts";
export {
  findSubject,
  type ServerTarget,
  type Subject,
} from "./subject/find-subject.ts";
