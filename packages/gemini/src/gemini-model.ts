import { type Model, type ModelEvent, type ModelRequest, modelHistory } from "@devtool/coding-agent/model";
import { Code } from "@devtool/server/agent";
import type { GenerateContentParameters } from "@google/genai";
import { Answer } from "./answer.ts";
import { Deadlines } from "./deadlines.ts";
import { createGeminiClient, type GeminiClient } from "./gemini-client.ts";
import { GeminiFault } from "./gemini-fault.ts";
import { DEFAULT_MODEL, type GeminiOptions, type GeminiTimeouts, retryPolicyOf, timeoutsOf } from "./gemini-options.ts";
import { type Retrying, retried } from "./retry.ts";
import { signedContents } from "./signature.ts";
import { contentsOf, toolsOf } from "./translate.ts";

/** The options of a Gemini model. */
export interface GeminiModelOptions extends GeminiOptions {
  /** Returns a number from 0 to below 1, for the waits between tries. Default: `Math.random`. */
  readonly random?: () => number;
  /** Waits between tries. Default: the platform's timer. */
  readonly sleep?: (ms: number, signal: AbortSignal) => Promise<void>;
}

/**
 * Gemini as a model, over the Gemini API or Vertex AI (docs/models.md). A request whose answer does not begin is sent
 * again; an answer that breaks off fails the step, with its text kept and none of its calls run.
 */
export function createGeminiModel(options: GeminiModelOptions): Model {
  const { model: name = DEFAULT_MODEL, maxInputTokens = 1_048_576, random = Math.random, sleep } = options;
  const asking: Asking = {
    ask: createGeminiClient(options),
    model: name,
    timeouts: timeoutsOf(options.timeouts),
    secret: options.apiKey ?? "",
    retrying: { policy: retryPolicyOf(options.retry), random, ...(sleep && { sleep }) },
  };
  return {
    name,
    maxInputTokens,
    inputModes: INPUT_MODES,
    generate: (request, signal) => generate(asking, request, signal),
  };
}

/** What Gemini reads beside text. */
const INPUT_MODES: readonly string[] = ["image/*", "audio/*", "video/*", "application/pdf"];

interface Asking {
  readonly ask: GeminiClient;
  readonly model: string;
  readonly timeouts: GeminiTimeouts;
  /** What no message may hold. */
  readonly secret: string;
  readonly retrying: Retrying;
}

async function* generate(asking: Asking, request: ModelRequest, signal: AbortSignal): AsyncIterable<ModelEvent> {
  const { turnMs } = asking.timeouts;
  const turn = new AbortController();
  const timer = setTimeout(() => turn.abort(turnTimeout(turnMs)), turnMs);
  const parameters = await parametersOf(request, asking.model);
  try {
    const attempt = (limit: AbortSignal): AsyncIterable<ModelEvent> =>
      withoutSecret(answer(asking, parameters, limit), asking.secret);
    yield* retried(attempt, asking.retrying, AbortSignal.any([signal, turn.signal]));
  } catch (reason) {
    signal.throwIfAborted();
    throw GeminiFault.from(reason);
  } finally {
    clearTimeout(timer);
  }
}

/** The same events, with faults that hold no secret: users are told of them, also of those after which it is asked again. */
async function* withoutSecret(events: AsyncIterable<ModelEvent>, secret: string): AsyncIterable<ModelEvent> {
  try {
    yield* events;
  } catch (reason) {
    throw GeminiFault.from(reason).without(secret);
  }
}

async function* answer(
  { ask, timeouts }: Asking,
  parameters: GenerateContentParameters,
  signal: AbortSignal,
): AsyncIterable<ModelEvent> {
  using deadlines = new Deadlines(timeouts, signal);
  const answer = new Answer();
  for await (const piece of deadlines.watch(ask(parameters, deadlines.signal))) yield* answer.add(piece);
  yield* answer.end();
}

async function parametersOf(request: ModelRequest, fallback: string): Promise<GenerateContentParameters> {
  const systemInstruction = await request.instructions();
  const model = request.model || fallback;
  const contents = contentsOf(modelHistory(request.history));
  const tools = toolsOf(request.tools);
  return {
    model,
    contents: wantsSignatures(model) ? signedContents(contents) : contents,
    config: {
      ...(systemInstruction && { systemInstruction }),
      ...(tools && { tools }),
      ...(canThink(model) && { thinkingConfig: { includeThoughts: true } }),
    },
  };
}

/** Asking a model for thoughts that has none is an error of the API. */
function canThink(model: string): boolean {
  return !/(^|\/)(gemini-(1|2\.0)|gemma)/.test(model);
}

function wantsSignatures(model: string): boolean {
  return !/(^|\/)(gemini-[12]\b|gemma)/.test(model);
}

function turnTimeout(ms: number): GeminiFault {
  return new GeminiFault(`the model took longer than ${ms} ms for an answer`, Code.DeadlineExceeded, {
    remedy: "ask for less at once",
  });
}
