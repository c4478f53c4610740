// The public names of @devtool/gemini, one by one. Adding a name is adding API.
export type { RetryPolicy } from "@devtool/coding-agent/model";
export { createGeminiModel, type GeminiModelOptions } from "./gemini-model.ts";
export {
  type GeminiOptions,
  type GeminiTimeouts,
  type GeminiVertex,
  geminiOptionsFrom,
} from "./gemini-options.ts";
