import { setTimeout as delay } from "node:timers/promises";
import { create } from "@bufbuild/protobuf";
import { abortable } from "@devtool/internal/abortable";
import { keepStart } from "@devtool/internal/cut-text";
import {
  AgentThoughtSchema,
  CitationSchema,
  confirmationsOf,
  NoticeSchema,
  Role,
  type ToolCall,
  toolCallsOf,
} from "@devtool/schema";
import { Code, DevtoolError } from "@devtool/server/agent";
import { messageText } from "../../tool/message-text.ts";
import type { Model, ModelEvent } from "../model.ts";
import { type Instruction, parseScript, sayPiece } from "./script.ts";

const PROSE_ANSWER =
  "This is the scripted agent: no model is connected, so it cannot answer in its own words. " +
  "It plays prompts that are scripts, one instruction a line, for instance:\n\n" +
  "think\nwrite hello.txt hello\\n\nrun cat hello.txt\ntext done\n\n" +
  "To connect Gemini, start the server with GEMINI_API_KEY in its environment (docs/models.md).";

/**
 * The names under which the model answers: its own, and two with which the
 * conformance kit changes the model.
 */
const NAMES: readonly string[] = [
  "scripted",
  "conformance-first",
  "conformance-second",
];

/**
 * Creates a model that plays the user's prompt as a script
 * (`docs/models.md`). It needs no API key.
 *
 * It answers prose with instructions for connecting a real model. The same
 * prompt always gives the same output.
 */
export function createScriptedModel(): Model {
  return {
    name: "scripted",
    names: NAMES,
    provider: "devtool",
    mayRepeat: true,
    async *generate({ history }, signal) {
      const promptIndex = history.findLastIndex(
        (message) =>
          message.role === Role.USER &&
          (messageText(message) !== "" ||
            confirmationsOf(message).length === 0),
      );
      // It plays its script again for each turn of a goal.
      const script = history
        .slice(0, promptIndex + 1)
        .findLast(
          ({ role, forGoal, parts }) =>
            role === Role.USER &&
            !forGoal &&
            parts.some(({ content }) => content.case === "text"),
        );
      const turns = script && parseScript(messageText(script));
      if (!turns) return yield { case: "text", value: PROSE_ANSWER };
      const steps = history
        .slice(promptIndex)
        .filter((message) => toolCallsOf(message).length > 0);
      const turn = turns[steps.length];
      if (!turn) {
        // After the last turn: each call of the last step with the first line
        // of its result.
        const calls = steps.slice(-1).flatMap(toolCallsOf);
        const lines = calls.map(
          (call) => `${call.toolName}: ${firstLineOfResult(call)}`,
        );
        return yield { case: "text", value: ["Done.", ...lines].join("\n") };
      }
      let last: ModelEvent | undefined;
      for (const instruction of turn) {
        signal.throwIfAborted();
        if (instruction.case === "wait") {
          await delay(instruction.ms, undefined, { signal });
        }
        if (instruction.case === "break" && instruction.how === "hang") {
          await abortable(new Promise<never>(() => {}), signal);
        }
        if (instruction.case === "duplicate" && last) yield last;
        for (const event of eventsOf(instruction)) {
          last = event;
          yield event;
        }
      }
    },
  };
}

/** Returns the events of an instruction. Throws for an instruction that fails the turn. */
function* eventsOf(instruction: Instruction): Iterable<ModelEvent> {
  switch (instruction.case) {
    case "say":
      for (let index = 1; index <= instruction.count; index++) {
        yield { case: "text", value: sayPiece(index, instruction.bytes) };
      }
      return;
    case "text":
      return yield { case: "text", value: instruction.text };
    case "repeat":
      for (let index = 1; index <= instruction.count; index++) {
        yield { case: "text", value: instruction.text };
      }
      return;
    case "think":
      for (let index = 1; index <= instruction.count; index++) {
        const [subject, description] = [
          `Subject ${index}`,
          `Description ${index}.`,
        ];
        yield {
          case: "thought",
          value: create(AgentThoughtSchema, { subject, description }),
        };
      }
      return;
    case "cite":
      return yield {
        case: "citation",
        value: create(CitationSchema, { uri: instruction.uri }),
      };
    case "finish":
      if (instruction.reason === "STOP") return;
      throw modelError(`stopped with ${instruction.reason}`);
    case "fail":
      if (!Number.isFinite(instruction.times)) {
        throw modelError(`failed with status ${instruction.code}`);
      }
      for (let attempt = 1; attempt <= instruction.times; attempt++) {
        const text = `The scripted model failed with status ${instruction.code}: it is asked again.`;
        yield {
          case: "notice",
          value: create(NoticeSchema, { text, attempt }),
        };
      }
      return;
    case "break":
      throw modelError(`broke off its answer: ${instruction.how}`);
    case "call":
      for (const value of instruction.calls) yield { case: "toolCall", value };
      return;
    case "wait":
    case "duplicate":
    case "drip":
    case "next":
      return;
    default:
      instruction satisfies never;
  }
}

function modelError(problem: string): DevtoolError {
  return new DevtoolError(`the scripted model ${problem}`, Code.Unavailable);
}

function firstLineOfResult({ result }: ToolCall): string {
  if (result.case === undefined) return "declined";
  if (result.case === "error") {
    return result.value.message.split("\n", 1)[0] ?? "";
  }
  const output = result.value.result;
  switch (output.case) {
    case "text":
      return output.value.split("\n", 1)[0] ?? "";
    case "diff":
      return `changed ${output.value.filePath}`;
    case "structuredData":
      return keepStart(JSON.stringify(output.value), 80);
    case undefined:
      return "no output";
    default:
      return output satisfies never;
  }
}
