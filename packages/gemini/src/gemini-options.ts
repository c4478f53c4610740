import type { RemoteOptions } from "@devtool/coding-agent/model";
import { defined } from "@devtool/internal/json";
import { Code, DevtoolError } from "@devtool/server/agent";

/** How to reach Gemini, and how long to wait for it. */
export interface GeminiOptions extends RemoteOptions {
  /** The model of sessions that choose none. Default: `gemini-pro-latest`. */
  readonly model?: string;
  /**
   * The key of the Gemini API, or of Vertex AI in express mode. Default: no
   * key.
   */
  readonly apiKey?: string;
  /**
   * Uses Vertex AI instead of the Gemini API.
   *
   * A project is used with the credentials of the machine (Google's Application
   * Default Credentials). `"express"` needs `apiKey` and no project. Default:
   * the Gemini API.
   */
  readonly vertex?: GeminiVertex | "express";
  /** The base URL of the API. Default: Google's. */
  readonly baseUrl?: string;
  /** The maximum size of a request, in tokens. Default: 1,048,576. */
  readonly maxInputTokens?: number;
}

/** A project on Vertex AI. */
export interface GeminiVertex {
  /** The Google Cloud project. */
  readonly project: string;
  /** The region, or `global`. */
  readonly location: string;
}

/** The model of sessions and servers that choose none. */
export const DEFAULT_MODEL = "gemini-pro-latest";

/**
 * Reads the environment variables that Google's own tools read (see
 * `docs/models.md`). One that is blank counts as not set.
 *
 * Undefined when they name neither a key nor a project. Throws a `DevtoolError`
 * when they ask for Vertex AI without either.
 */
export function geminiOptionsFrom(
  environment: Readonly<Record<string, string | undefined>>,
): GeminiOptions | undefined {
  const read = (name: string): string | undefined =>
    environment[name]?.trim() || undefined;
  const key = read("GOOGLE_API_KEY") ?? read("GEMINI_API_KEY");
  const vertex = vertexFrom(read, key);
  const apiKey = typeof vertex === "object" ? undefined : key;
  if (!vertex && apiKey === undefined) return undefined;
  const baseUrl = read(
    vertex ? "GOOGLE_VERTEX_BASE_URL" : "GOOGLE_GEMINI_BASE_URL",
  );
  return defined({ model: read("GEMINI_MODEL"), apiKey, vertex, baseUrl });
}

/**
 * Returns the choice of Vertex AI; undefined for the Gemini API.
 *
 * Vertex AI is chosen by `GOOGLE_GENAI_USE_VERTEXAI`, or by a project when
 * there is no key. It then uses the project, or the key in express mode.
 */
function vertexFrom(
  read: (name: string) => string | undefined,
  key: string | undefined,
): GeminiOptions["vertex"] {
  const project = read("GOOGLE_CLOUD_PROJECT");
  const asked = /^(true|1)$/i.test(read("GOOGLE_GENAI_USE_VERTEXAI") ?? "");
  if (!asked && key !== undefined) return undefined;
  if (project !== undefined) {
    return { project, location: read("GOOGLE_CLOUD_LOCATION") ?? "global" };
  }
  if (asked && key === undefined) {
    const problem =
      "GOOGLE_GENAI_USE_VERTEXAI asks for Vertex AI, but there is neither a project nor a key";
    throw new DevtoolError(problem, Code.InvalidArgument, {
      remedy: "set GOOGLE_CLOUD_PROJECT or GOOGLE_API_KEY",
    });
  }
  return asked ? "express" : undefined;
}
