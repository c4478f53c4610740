import type { Model } from "@devtool/coding-agent/model";
import { createGeminiModel, geminiOptionsFrom } from "@devtool/gemini";
import type { ModelConfig } from "@devtool/schema";

/**
 * The model that the environment and the config file name: Gemini where there is a key or a project on Vertex AI;
 * undefined elsewhere, which leaves the scripted one.
 */
export function findModel(
  config: ModelConfig | undefined,
  env: Readonly<Record<string, string | undefined>>,
): Model | undefined {
  const options = geminiOptionsFrom({
    ...env,
    ...(config?.vertexProject && { GOOGLE_GENAI_USE_VERTEXAI: "true", GOOGLE_CLOUD_PROJECT: config.vertexProject }),
    ...(config?.vertexLocation && { GOOGLE_CLOUD_LOCATION: config.vertexLocation }),
  });
  if (!options) return undefined;
  return createGeminiModel({
    ...options,
    ...(config?.name && { model: config.name }),
    ...(config?.baseUrl && { baseUrl: config.baseUrl }),
  });
}
