// The names of @devtool/sandbox/operator: for the command, which is a
// bundle. Not part of the published package.

export { whyUntrusted } from "./search-path.ts";
