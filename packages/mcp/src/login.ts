// The names of @devtool/mcp/login: for the command, which loads it when somebody
// logs in or out. Not part of the published package.
export { logIn } from "./log-in.ts";
export { loginUrl, logOut } from "./stored-login.ts";
