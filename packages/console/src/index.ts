// The public names of @devtool/console. Each name added here becomes public
// API.

export { loadConsole } from "./load-console.ts";
