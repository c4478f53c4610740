// The public names of @devtool/anthropic, one by one. Adding a name is adding
// API.
export { createAnthropicModel } from "./anthropic-model.ts";
export { anthropicOptionsFrom } from "./anthropic-options.ts";
