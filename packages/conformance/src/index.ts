// The public names of @devtool/conformance, one by one. Adding a name is adding API.
export type { BindingName, ProtocolVersion, ServerTrust } from "./binding/binding.ts";
export type { CaseFailure, CaseResult } from "./case-result.ts";
export { findSubject, type ServerTarget, type Subject } from "./find-subject.ts";
export { Program, type ProgramStreams, type ProgramWork } from "./program.ts";
export { type CuttingProxy, startCuttingProxy } from "./replay/cutting-proxy.ts";
export type { A2aInterface } from "./replay/replay-a2a-v1.ts";
export { createReport, isClean, type ReportInput, type ReportSubject, readingOf } from "./report/create-report.ts";
export { htmlPage } from "./report/html.ts";
export { junitXml } from "./report/junit.ts";
export { readKnownFailing } from "./report/known-failing.ts";
export { reportTable } from "./report/table.ts";
export type { Requirement } from "./requirement.ts";
export { REQUIREMENTS } from "./requirements.ts";
export { type ClientSuiteOptions, clientCases, runClientSuite } from "./run-client-suite.ts";
export { type JsonCodec, jsonGoldens, runJsonSuite } from "./run-json-suite.ts";
export { type ProgramSuiteOptions, programCases, runProgramSuite } from "./run-program-suite.ts";
export { type PushSuiteOptions, pushCases, runPushSuite } from "./run-push-suite.ts";
export { runServerSuite, type ServerSuiteOptions, serverCases } from "./run-server-suite.ts";
