import { type Model, type ModelEvent, type ModelRequest, modelHistory } from "@devtool/coding-agent/model";
import { defined } from "@devtool/schema/json";
import { Code } from "@devtool/server/agent";
import type { GenerateContentParameters } from "@google/genai";
import { AnswerReader } from "./answer-reader.ts";
import { Deadlines } from "./deadlines.ts";
import { createGeminiClient } from "./gemini-client.ts";
import { GeminiFault } from "./gemini-fault.ts";
import { DEFAULT_MODEL, type GeminiOptions, retryPolicyFrom, timeoutsFrom } from "./gemini-options.ts";
import { withRetries } from "./retry.ts";
import { signContents } from "./signature.ts";
import { encodeContents, encodeTools } from "./translate.ts";

/** The options of `createGeminiModel`. */
export interface GeminiModelOptions extends GeminiOptions {
  /** Returns a number from 0 to below 1, for the random part of the waits between attempts. Default: `Math.random`. */
  readonly random?: () => number;
  /** Waits between attempts, in milliseconds. Default: the platform's timer. */
  readonly sleep?: (ms: number, signal: AbortSignal) => Promise<void>;
}

/** The media types that Gemini accepts besides text. */
const INPUT_MODES: readonly string[] = ["image/*", "audio/*", "video/*", "application/pdf"];

/**
 * Creates a model that generates with Gemini, over the Gemini API or Vertex AI.
 *
 * A request is sent again as long as nothing of its answer has come. An answer that breaks off later fails the step: its text
 * stays, and none of its calls runs. The key appears in no error and no notice. See `docs/models.md` for each fault.
 */
export function createGeminiModel(options: GeminiModelOptions): Model {
  const { model: name = DEFAULT_MODEL, maxInputTokens = 1_048_576, random = Math.random, sleep, apiKey = "" } = options;
  const ask = createGeminiClient(options);
  const timeouts = timeoutsFrom(options.timeouts);
  const retries = { policy: retryPolicyFrom(options.retry), random, sleep };

  /** Sends the request once and yields the events of its answer. */
  async function* attempt(parameters: GenerateContentParameters, signal: AbortSignal): AsyncIterable<ModelEvent> {
    using deadlines = new Deadlines(timeouts, signal);
    const answer = new AnswerReader();
    try {
      for await (const piece of deadlines.watch(ask(parameters, deadlines.signal))) yield* answer.add(piece);
      yield* answer.end();
    } catch (reason) {
      // Users see the fault, also when the request is sent again after it.
      throw GeminiFault.from(reason).without(apiKey);
    }
  }

  async function* generate(request: ModelRequest, signal: AbortSignal): AsyncIterable<ModelEvent> {
    const parameters = await encodeRequest(request, name);
    const turn = new AbortController();
    const timer = setTimeout(() => {
      const problem = `the model took longer than ${timeouts.turnMs} ms for an answer`;
      turn.abort(new GeminiFault(problem, Code.DeadlineExceeded, { remedy: "ask for less at once" }));
    }, timeouts.turnMs);
    try {
      const limit = AbortSignal.any([signal, turn.signal]);
      yield* withRetries((attemptSignal) => attempt(parameters, attemptSignal), retries, limit);
    } catch (reason) {
      signal.throwIfAborted();
      throw GeminiFault.from(reason);
    } finally {
      clearTimeout(timer);
    }
  }

  return { name, maxInputTokens, inputModes: INPUT_MODES, generate };
}

async function encodeRequest(request: ModelRequest, defaultModel: string): Promise<GenerateContentParameters> {
  const systemInstruction = (await request.instructions()) || undefined;
  const model = request.model || defaultModel;
  const contents = encodeContents(modelHistory(request.history));
  const tools = encodeTools(request.tools);
  // Asking a model without thoughts for its thoughts is an error of the API.
  const canThink = !/(^|\/)(gemini-(1|2\.0)|gemma)/.test(model);
  const needsSignatures = !/(^|\/)(gemini-[12]\b|gemma)/.test(model);
  return {
    model,
    contents: needsSignatures ? signContents(contents) : contents,
    config: defined({ systemInstruction, tools, thinkingConfig: canThink ? { includeThoughts: true } : undefined }),
  };
}
