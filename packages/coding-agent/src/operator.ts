// What @devtool/coding-agent/operator exports: whose configuration the agent may use, for the tools of an operator.
export { Workspace } from "./tool/workspace.ts";
export { TrustStore } from "./trust/trust-store.ts";
