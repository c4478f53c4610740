// The names of @devtool/mcp/operator: for the command, which is a
// bundle. Not part of the published package.

export { hasSecretWord, looksSecret, runnerNotice } from "./server-place.ts";
export { type LoginStore, parseLogin, storedLogins } from "./stored-login.ts";
