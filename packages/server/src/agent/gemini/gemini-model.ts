import type { GenerateContentParameters } from "@google/genai";
import { Code } from "../../errors.ts";
import { modelHistory } from "../history.ts";
import type { Model, ModelEvent, ModelRequest } from "../model.ts";
import { Answer } from "./answer.ts";
import { Deadlines } from "./deadlines.ts";
import { createGeminiClient, type GeminiClient } from "./gemini-client.ts";
import { GeminiFault } from "./gemini-fault.ts";
import { DEFAULT_MODEL, type GeminiOptions, type GeminiTimeouts, retryPolicyOf, timeoutsOf } from "./gemini-options.ts";
import { assertNoCallLoop, TextLoopGuard } from "./loop-guard.ts";
import { type Retrying, retried } from "./retry.ts";
import { signedContents } from "./signature.ts";
import { contentsOf, toolsOf } from "./translate.ts";

/** What a Gemini model is made of. */
export interface GeminiModelOptions extends GeminiOptions {
  /** Gives a number from 0 to below 1, for the waits between tries. */
  readonly random: () => number;
  /** Waits between tries. Default: the platform's timer. */
  readonly sleep?: (ms: number, signal: AbortSignal) => Promise<void>;
}

/**
 * Gemini as a model, over the Gemini API or Vertex AI (docs/models.md). A request whose answer does not begin is sent
 * again; an answer that breaks off fails the step, with its text kept and none of its calls run.
 */
export function createGeminiModel(options: GeminiModelOptions): Model {
  const { model: name = DEFAULT_MODEL, maxInputTokens = 1_048_576, random, sleep } = options;
  const asking: Asking = {
    ask: createGeminiClient(options),
    model: name,
    timeouts: timeoutsOf(options.timeouts),
    secret: options.apiKey ?? "",
    retrying: { policy: retryPolicyOf(options.retry), random, ...(sleep && { sleep }) },
  };
  return { name, maxInputTokens, generate: (request, signal) => generate(asking, request, signal) };
}

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
      withoutSecret(answer(asking, { parameters, history: request.history }, limit), asking.secret);
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
  { parameters, history }: Pick<ModelRequest, "history"> & { readonly parameters: GenerateContentParameters },
  signal: AbortSignal,
): AsyncIterable<ModelEvent> {
  using deadlines = new Deadlines(timeouts, signal);
  const answer = new Answer();
  const words = new TextLoopGuard();
  for await (const piece of deadlines.watch(ask(parameters, deadlines.signal))) {
    for (const event of answer.add(piece)) {
      if (event.case === "text") words.add(event.value);
      if (event.case === "thought") words.add(event.value.description);
      yield event;
    }
  }
  assertNoCallLoop(history, answer.calls);
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
  return new GeminiFault(
    `the model took longer than ${ms} ms for an answer: ask for less at once`,
    Code.DeadlineExceeded,
  );
}
