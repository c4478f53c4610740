// The public names of @devtool/anthropic, one by one. Adding a name is adding
// API.
export type { ModelTimeouts, RetryPolicy } from "@devtool/coding-agent/model";
export {
  type AnthropicModelOptions,
  createAnthropicModel,
} from "./anthropic-model.ts";
export {
  type AnthropicOptions,
  anthropicOptionsFrom,
} from "./anthropic-options.ts";
