// The names of @devtool/conformance/operator: for the command, which is a
// bundle. Not part of the published package.

export { addKitOptions } from "./command/kit-options.ts";
export { type ConformanceOptions, runKit } from "./command/run-kit.ts";
export { readKnownFailing } from "./report/known-failing.ts";
