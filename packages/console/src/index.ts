// The public names of @devtool/console. Each name added here becomes public
// API.

export {
  type ConsoleFile,
  type ConsoleSite,
  loadConsole,
} from "./load-console.ts";
