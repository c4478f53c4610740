// The names of @devtool/mcp/operator: for the command, which is a
// bundle. Not part of the published package.

export { assertUsable } from "./assert-usable.ts";
export type { PortAgent, PortTasks } from "./server/port.ts";
export { serveMcpStdio } from "./server/serve-mcp-stdio.ts";
export {
  hasSecretWord,
  looksSecret,
  runnerNotice,
  serverPlace,
} from "./server-place.ts";
export { type LoginStore, parseLogin, storedLogins } from "./stored-login.ts";
