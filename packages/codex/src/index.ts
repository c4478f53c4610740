// The public names of @devtool/codex. Each name added here becomes public API.

export { codexAgent } from "./codex-agent.ts";
