// The public names of @devtool/gemini, one by one. Adding a name is adding API.
export { createGeminiModel } from "./gemini-model.ts";
export { geminiOptionsFrom } from "./gemini-options.ts";
