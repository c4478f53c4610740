import { setTimeout as delay } from "node:timers/promises";
import { create } from "@bufbuild/protobuf";
import {
  AgentThoughtSchema,
  CitationSchema,
  confirmationsOf,
  type Message,
  NoticeSchema,
  Role,
  type ToolCall,
  toolCallsOf,
} from "@devtool/schema";
import { Code, DevtoolError } from "@devtool/server/agent";
import type { Model, ModelEvent, ModelRequest } from "../model.ts";
import { parseScript, type Step, sayPiece } from "./script.ts";

/**
 * A model that needs no key: it plays the script that the prompt is (docs/scripted-agent.md) and answers prose with how
 * to connect a real one. The same prompt always gives the same answer.
 */
export function createScriptedModel(): Model {
  return { name: "scripted", mayRepeat: true, generate };
}

async function* generate({ history }: ModelRequest, signal: AbortSignal): AsyncIterable<ModelEvent> {
  const at = history.findLastIndex(isPrompt);
  const turns = parseScript(textOf(history[at]));
  if (!turns) return yield* prose();
  const steps = history.slice(at).filter((message) => toolCallsOf(message).length > 0);
  const turn = turns[steps.length];
  if (!turn) return yield { case: "text", value: summarize(steps.at(-1)) };
  yield* playTurn(turn, signal);
}

async function* playTurn(turn: readonly Step[], signal: AbortSignal): AsyncIterable<ModelEvent> {
  let last: ModelEvent | undefined;
  for (const step of turn) {
    signal.throwIfAborted();
    if (step.case === "wait") await delay(step.ms, undefined, { signal });
    if (step.case === "break" && step.how === "hang") await aborted(signal);
    if (step.case === "duplicate" && last) yield last;
    for (const event of play(step)) {
      last = event;
      yield event;
    }
  }
}

function aborted(signal: AbortSignal): Promise<never> {
  const { promise, reject } = Promise.withResolvers<never>();
  if (signal.aborted) reject(signal.reason);
  else signal.addEventListener("abort", () => reject(signal.reason), { once: true });
  return promise;
}

function isPrompt(message: Message): boolean {
  return message.role === Role.USER && (textOf(message) !== "" || confirmationsOf(message).length === 0);
}

function textOf(message: Message | undefined): string {
  const texts = message?.parts.flatMap(({ content }) => (content.case === "text" ? [content.value] : [])) ?? [];
  return texts.join("\n");
}

function* prose(): Iterable<ModelEvent> {
  const value =
    "This is the scripted agent: no model is connected, so it cannot answer in its own words. " +
    "It plays prompts that are scripts, one step a line, for instance:\n\n" +
    "think\nwrite hello.txt hello\\n\nrun cat hello.txt\ntext done\n\n" +
    "To connect Gemini, start the server with GEMINI_API_KEY in its environment (docs/models.md).";
  yield { case: "text", value };
}

function* play(step: Step): Iterable<ModelEvent> {
  switch (step.case) {
    case "say":
      for (let index = 1; index <= step.count; index++) yield { case: "text", value: sayPiece(index, step.bytes) };
      return;
    case "text":
      return yield { case: "text", value: step.text };
    case "repeat":
      for (let index = 1; index <= step.count; index++) yield { case: "text", value: step.text };
      return;
    case "think":
      for (let index = 1; index <= step.count; index++) yield thought(index);
      return;
    case "cite":
      return yield { case: "citation", value: create(CitationSchema, { uri: step.uri }) };
    case "finish":
      if (step.reason === "STOP") return;
      throw failure(`stopped with ${step.reason}`);
    case "fail":
      return yield* fail(step);
    case "break":
      throw failure(`broke off its answer: ${step.how}`);
    case "call":
      for (const value of step.calls) yield { case: "toolCall", value };
      return;
    case "wait":
    case "duplicate":
    case "drip":
    case "next":
      return;
    default:
      step satisfies never;
  }
}

/** Fails for good, or tells of so many tries that failed. */
function* fail({ code, times }: Extract<Step, { case: "fail" }>): Iterable<ModelEvent> {
  if (!Number.isFinite(times)) throw failure(`failed with status ${code}`);
  for (let attempt = 1; attempt <= times; attempt++) {
    const text = `The scripted model failed with status ${code}: it is asked again.`;
    yield { case: "notice", value: create(NoticeSchema, { text, attempt }) };
  }
}

function failure(problem: string): DevtoolError {
  return new DevtoolError(`the scripted model ${problem}`, Code.Unavailable);
}

function thought(index: number): ModelEvent {
  const value = create(AgentThoughtSchema, { subject: `Subject ${index}`, description: `Description ${index}.` });
  return { case: "thought", value };
}

/** What the model says when its script is used up and results are there: each call and the first line of its result. */
function summarize(step: Message | undefined): string {
  const lines = step ? toolCallsOf(step).map((call) => `${call.toolName}: ${outcomeOf(call)}`) : [];
  return lines.length > 0 ? `Done.\n${lines.join("\n")}` : "Done.";
}

function outcomeOf({ result }: ToolCall): string {
  switch (result.case) {
    case "error":
      return result.value.message.split("\n", 1)[0] ?? "";
    case "output":
      return outputLine(result.value.result);
    case undefined:
      return "declined";
    default:
      return result satisfies never;
  }
}

function outputLine(output: Extract<ToolCall["result"], { case: "output" }>["value"]["result"]): string {
  switch (output.case) {
    case "text":
      return output.value.split("\n", 1)[0] ?? "";
    case "diff":
      return `changed ${output.value.filePath}`;
    case "structuredData":
      return JSON.stringify(output.value).slice(0, 80);
    case undefined:
      return "no output";
    default:
      return output satisfies never;
  }
}
