/**
 * The entry `@devtool/coding-agent/operator`: the trust of workspaces, and their
 * editors, for the operator's commands.
 */

export { UserIde } from "./assembly/user-ide.ts";
export type { Ide, IdeConnection } from "./tool/ide.ts";
export { Workspace } from "./tool/workspace.ts";
export { TrustStore } from "./trust/trust-store.ts";
