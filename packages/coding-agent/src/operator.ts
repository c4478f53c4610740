/**
 * The entry `@devtool/coding-agent/operator`: the trust of workspaces, for the
 * operator's commands.
 */

export { Workspace } from "./tool/workspace.ts";
export { TrustStore } from "./trust/trust-store.ts";
