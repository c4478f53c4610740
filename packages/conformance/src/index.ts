// The public names of @devtool/conformance, one by one. Adding a name is adding API.
export type { CaseResult } from "./case-result.ts";
export { runServerSuite } from "./run-server-suite.ts";
