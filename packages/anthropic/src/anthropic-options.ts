import type { RemoteOptions } from "@devtool/coding-agent/model";
import { defined } from "@devtool/internal/json";

/** How to reach Anthropic, and how long to wait for it. */
export interface AnthropicOptions extends RemoteOptions {
  /** The model of sessions that choose none. Default: `claude-sonnet-5-5`. */
  readonly model?: string;
  /**
   * The key, sent as `x-api-key`. Default: none, and requests do not have the
   * header.
   */
  readonly apiKey?: string;
  /**
   * The base URL of the API, without its `/v1`. Default:
   * `https://api.anthropic.com`.
   */
  readonly baseUrl?: string;
  /**
   * The maximum size of an answer, thoughts included, in tokens. Default:
   * 32,000.
   */
  readonly maxOutputTokens?: number;
  /**
   * The maximum size of the thoughts in an answer, in tokens: at least 1024,
   * and less than `maxOutputTokens`. 0 asks for none, and `"adaptive"` lets the
   * model decide, which models before Claude 4.6 refuse. Default: `"adaptive"`.
   */
  readonly thinking?: number | "adaptive";
  /** The maximum size of a request, in tokens. Default: 200,000. */
  readonly maxInputTokens?: number;
}

/** The model of sessions and servers that choose none. */
export const DEFAULT_MODEL = "claude-sonnet-5-5";

/**
 * Reads the environment variables that Anthropic's own tools read:
 * `ANTHROPIC_API_KEY`, `ANTHROPIC_BASE_URL` and `ANTHROPIC_MODEL`. One that is
 * blank counts as not set.
 *
 * Undefined when they name no key.
 */
export function anthropicOptionsFrom(
  environment: Readonly<Record<string, string | undefined>>,
): AnthropicOptions | undefined {
  const read = (name: string): string | undefined =>
    environment[name]?.trim() || undefined;
  const apiKey = read("ANTHROPIC_API_KEY");
  if (apiKey === undefined) return undefined;
  return defined({
    model: read("ANTHROPIC_MODEL"),
    apiKey,
    baseUrl: read("ANTHROPIC_BASE_URL"),
  });
}
