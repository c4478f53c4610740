// The public names of @devtool/conformance, one by one. Adding a name is adding API.
export type { CaseResult } from "./case-result.ts";
export type { ServerTarget } from "./exchange.ts";
export { Program, type ProgramStreams, type ProgramWork } from "./program.ts";
export { REQUIREMENTS, type Requirement } from "./requirements.ts";
export { type JsonCodec, jsonGoldens, runJsonSuite } from "./run-json-suite.ts";
export { type ProgramSuiteOptions, programCases, runProgramSuite } from "./run-program-suite.ts";
export { runServerSuite, type ServerSuiteOptions, serverCases } from "./run-server-suite.ts";
