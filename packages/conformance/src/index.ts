/**
 * The public API of `@devtool/conformance`, name by name. Adding a name here
 * adds API.
 *
 * `findSubject` with `runServerSuite` tests a server, `runPushSuite` its
 * notifications, `runClientSuite` and `runAgentSuite` a client, and `runProgramSuite` or
 * `runJsonSuite` readers and writers of JSON. `createReport` turns the results
 * into a report.
 */
export type { CaseResult } from "./play/case-result.ts";
export { createReport } from "./report/create-report.ts";
export { htmlPage } from "./report/html.ts";
export { junitXml } from "./report/junit.ts";
export { reportTable } from "./report/table.ts";
export { REQUIREMENTS } from "./requirement/requirements.ts";
export { runAgentSuite } from "./runner/run-agent-suite.ts";
export { runClientSuite } from "./runner/run-client-suite.ts";
export { type JsonCodec, runJsonSuite } from "./runner/run-json-suite.ts";
export { runProgramSuite } from "./runner/run-program-suite.ts";
export { runPushSuite } from "./runner/run-push-suite.ts";
export { runServerSuite } from "./runner/run-server-suite.ts";
export { findSubject } from "./subject/find-subject.ts";
