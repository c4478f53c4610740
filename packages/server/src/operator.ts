// What @devtool/server/operator exports: whose configuration agents may use, for the tools of an operator.
export { Workspace } from "./tool/workspace.ts";
export { TrustStore } from "./trust/trust-store.ts";
