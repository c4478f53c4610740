import { Code, DevtoolError } from "@devtool/server/agent";

/** How to reach Gemini and how long to wait for it. */
export interface GeminiOptions {
  /** The model of sessions that choose none. Default `gemini-pro-latest`. */
  readonly model?: string;
  /** The key of the Gemini API, or of Vertex AI in express mode. */
  readonly apiKey?: string;
  /**
   * Takes Vertex AI in place of the Gemini API: a project, with the credentials of the machine (Google's Application
   * Default Credentials), or `express` mode, with `apiKey` and no project.
   */
  readonly vertex?: GeminiVertex | "express";
  /** Where the API listens. Default: Google's address. */
  readonly baseUrl?: string;
  /** The maximum number of tokens that the model can be asked with. Default 1,048,576. */
  readonly maxInputTokens?: number;
  readonly retry?: Partial<RetryPolicy>;
  readonly timeouts?: Partial<GeminiTimeouts>;
}

/** A place on Vertex AI. */
export interface GeminiVertex {
  /** The Google Cloud project. */
  readonly project: string;
  /** The region, or `global`. */
  readonly location: string;
}

/** When a request that failed is sent again. Only one of whose answer nothing came is. */
export interface RetryPolicy {
  /** The maximum number of times that a request is sent, the first included. Default 5. */
  readonly maxAttempts: number;
  /** The longest first wait, in milliseconds; doubles with each try. Default 1000. */
  readonly baseDelayMs: number;
  /** The longest wait, in milliseconds. Default 30,000. */
  readonly maxDelayMs: number;
  /** The longest wait that the API may ask for, in milliseconds; past it the turn fails. Default 120,000. */
  readonly maxRetryAfterMs: number;
}

/** How long a model may take, in milliseconds. */
export interface GeminiTimeouts {
  /** Until the first piece of an answer. Default 60,000. */
  readonly firstByteMs: number;
  /** Between two pieces. Default 30,000. */
  readonly idleMs: number;
  /** One answer, waits and tries included. Default 30 minutes. */
  readonly turnMs: number;
}

/** Retries with their defaults. */
export function retryPolicyOf(policy: Partial<RetryPolicy> = {}): RetryPolicy {
  return { maxAttempts: 5, baseDelayMs: 1000, maxDelayMs: 30_000, maxRetryAfterMs: 120_000, ...policy };
}

/** Timeouts with their defaults. */
export function timeoutsOf(timeouts: Partial<GeminiTimeouts> = {}): GeminiTimeouts {
  return { firstByteMs: 60_000, idleMs: 30_000, turnMs: 30 * 60_000, ...timeouts };
}

/** The model of sessions and servers that choose none. */
export const DEFAULT_MODEL = "gemini-pro-latest";

/**
 * Reads the environment that Google's own tools read (docs/models.md). Undefined when it holds neither a key nor a
 * Vertex AI project: then there is no Gemini. Throws when it asks for Vertex AI then.
 */
export function geminiOptionsFrom(
  environment: Readonly<Record<string, string | undefined>>,
): GeminiOptions | undefined {
  const read = (name: string): string | undefined => environment[name]?.trim() || undefined;
  const key = read("GOOGLE_API_KEY") ?? read("GEMINI_API_KEY");
  const vertex = vertexFrom(read, key);
  const apiKey = typeof vertex === "object" ? undefined : key;
  if (!vertex && apiKey === undefined) return undefined;
  const model = read("GEMINI_MODEL");
  const baseUrl = read(vertex ? "GOOGLE_VERTEX_BASE_URL" : "GOOGLE_GEMINI_BASE_URL");
  return {
    ...(model !== undefined && { model }),
    ...(apiKey !== undefined && { apiKey }),
    ...(vertex && { vertex }),
    ...(baseUrl !== undefined && { baseUrl }),
  };
}

/**
 * Vertex AI is taken when the environment says so, or when it names a project and no key. A project goes before a key;
 * a key alone is express mode.
 */
function vertexFrom(read: (name: string) => string | undefined, key: string | undefined): GeminiOptions["vertex"] {
  const project = read("GOOGLE_CLOUD_PROJECT");
  const asked = /^(true|1)$/i.test(read("GOOGLE_GENAI_USE_VERTEXAI") ?? "");
  if (!asked && key !== undefined) return undefined;
  if (project !== undefined) return { project, location: read("GOOGLE_CLOUD_LOCATION") ?? "global" };
  if (asked && key === undefined) throw nobodyAsks();
  return asked ? "express" : undefined;
}

function nobodyAsks(): DevtoolError {
  return new DevtoolError(
    "GOOGLE_GENAI_USE_VERTEXAI asks for Vertex AI, but there is neither a project nor a key",
    Code.InvalidArgument,
    { remedy: "set GOOGLE_CLOUD_PROJECT or GOOGLE_API_KEY" },
  );
}
