// The public names of @devtool/openai, one by one. Adding a name is adding API.
export type { ModelTimeouts, RetryPolicy } from "@devtool/coding-agent/model";
export { createOpenAiModel, type OpenAiModelOptions } from "./openai-model.ts";
export {
  type OpenAiApi,
  type OpenAiOptions,
  openAiOptionsFrom,
} from "./openai-options.ts";
