// The internals that tests of other packages use. This entry exists in this
// repository only.

export type { ShellAnalysis } from "../shell/shell-analysis.ts";
export { createTreeSitterReader } from "../shell/tree-sitter-reader.ts";
export { createUnbashReader } from "../shell/unbash-reader.ts";
