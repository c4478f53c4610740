import { setTimeout as delay } from "node:timers/promises";
import { create } from "@bufbuild/protobuf";
import { AgentThoughtSchema, confirmationsOf, type Message, Role, type ToolCall, toolCallsOf } from "@devtool/schema";
import { Code, DevtoolError } from "../../errors.ts";
import type { Model, ModelEvent, ModelRequest } from "../model.ts";
import { parseScript, type Step } from "./script.ts";

/**
 * A model that needs no key: it plays the script that the prompt is (docs/scripted-agent.md) and answers prose with how
 * to connect a real one. The same prompt always gives the same answer.
 */
export function createScriptedModel(): Model {
  return { name: "scripted", generate };
}

async function* generate({ history }: ModelRequest, signal: AbortSignal): AsyncIterable<ModelEvent> {
  const at = history.findLastIndex(isPrompt);
  const turns = parseScript(textOf(history[at]));
  if (!turns) return yield* prose();
  const steps = history.slice(at).filter((message) => toolCallsOf(message).length > 0);
  const turn = turns[steps.length];
  if (!turn) return yield { case: "text", value: summarize(steps.at(-1)) };
  for (const step of turn) {
    signal.throwIfAborted();
    if (step.case === "wait") await delay(step.ms, undefined, { signal });
    else for (const event of play(step)) yield event;
  }
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
    "To connect a model, start the server from your own code: createServer({ model }) of @devtool/server.";
  yield { case: "text", value };
}

function* play(step: Exclude<Step, { case: "wait" }>): Iterable<ModelEvent> {
  switch (step.case) {
    case "say":
      for (let index = 1; index <= step.count; index++) yield { case: "text", value: chunk(index, step.bytes) };
      return;
    case "text":
      yield { case: "text", value: step.text };
      return;
    case "think":
      for (let index = 1; index <= step.count; index++) yield thought(index);
      return;
    case "fail":
      throw new DevtoolError(`the scripted model failed with status ${step.code}`, Code.Unavailable);
    case "call":
      for (const value of step.calls) yield { case: "toolCall", value };
      return;
    case "next":
      return;
    default:
      step satisfies never;
  }
}

function chunk(index: number, bytes: number): string {
  return `chunk ${index} `.padEnd(bytes, "abcdefghij ");
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
