// The internals that tests of other packages use. This entry exists in this
// repository only.
export { createTreeSitterReader } from "../shell/tree-sitter-reader.ts";
export { createUnbashReader } from "../shell/unbash-reader.ts";
