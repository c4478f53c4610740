import { create } from "@bufbuild/protobuf";
import type { Model } from "@devtool/coding-agent/model";
import { createGeminiModel, geminiOptionsFrom } from "@devtool/gemini";
import { type ModelConfig, ModelConfigSchema } from "@devtool/schema";
import { defined } from "@devtool/schema/json";

/**
 * Returns the model that the environment and the config file configure.
 *
 * This is Gemini with an API key or a Vertex AI project. Otherwise it is undefined, and the agent uses its scripted model.
 */
export function findModel(
  config: ModelConfig | undefined,
  env: Readonly<Record<string, string | undefined>>,
): Model | undefined {
  const { name, baseUrl, vertexProject, vertexLocation } = config ?? create(ModelConfigSchema);
  const options = geminiOptionsFrom({
    ...env,
    ...(vertexProject === "" ? {} : { GOOGLE_GENAI_USE_VERTEXAI: "true", GOOGLE_CLOUD_PROJECT: vertexProject }),
    ...(vertexLocation === "" ? {} : { GOOGLE_CLOUD_LOCATION: vertexLocation }),
  });
  if (!options) return undefined;
  return createGeminiModel({ ...options, ...defined({ model: name || undefined, baseUrl: baseUrl || undefined }) });
}
