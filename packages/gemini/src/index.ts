// The public names of @devtool/gemini, one by one. Adding a name is adding API.
export { createGeminiModel, type GeminiModelOptions } from "./gemini-model.ts";
export {
  type GeminiOptions,
  type GeminiTimeouts,
  type GeminiVertex,
  geminiOptionsFrom,
  type RetryPolicy,
} from "./gemini-options.ts";
