// What @devtool/server/gemini exports: Gemini as a model, apart from the rest, so that a server without it loads none of it.
export { createGeminiModel, type GeminiModelOptions } from "./agent/gemini/gemini-model.ts";
