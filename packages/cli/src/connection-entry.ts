// What @devtool/cli/connection exports, in this repository alone: how the
// command finds its server, for the extension of VS Code.
export { openConnection } from "./connection/connection.ts";
export { userMessage } from "./error-text.ts";
export { taskStateName } from "./task-state-name.ts";
