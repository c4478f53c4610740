// The public names of @devtool/openai, one by one. Adding a name is adding API.
export { createOpenAiModel } from "./openai-model.ts";
export { openAiOptionsFrom } from "./openai-options.ts";
