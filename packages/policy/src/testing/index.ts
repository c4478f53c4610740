// What @devtool/policy/testing exports, in this repository alone: what the tests of the whole need of the inside.
export { createTreeSitterReader } from "../shell/tree-sitter-reader.ts";
export { createUnbashReader } from "../shell/unbash-reader.ts";
