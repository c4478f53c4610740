import { create, type JsonObject, type JsonValue } from "@bufbuild/protobuf";
import { isObject, parseJsonOrUndefined } from "@devtool/internal/json";
import {
  type AgentThought,
  AgentThoughtSchema,
  DEFAULT_LIMITS,
  parseJson,
} from "@devtool/schema";
import { Code } from "@devtool/server/agent";
import { INFINITE, replaceInexactNumbers } from "./exact-json.ts";
import { brokenFault, ModelFault } from "./model-fault.ts";

const MAX_ARGUMENT_BYTES = 1024 * 1024;

/**
 * Reads a thought in the form `**Subject** description`. A text without a
 * subject is all description.
 */
export function readThought(text: string): AgentThought {
  const match = /\*\*(.+?)\*\*/s.exec(text);
  const description = match
    ? text.slice(0, match.index) + text.slice(match.index + match[0].length)
    : text;
  return create(AgentThoughtSchema, {
    subject: match?.[1]?.trim().toWellFormed() ?? "",
    description: description.trim(),
  });
}

/**
 * Reads the arguments of a call: a JSON object, or its text. None, null and an
 * empty text are no arguments.
 *
 * A number that a double cannot hold exactly becomes infinite: such a call is
 * refused. Throws a `ModelFault` if the arguments are something else or too
 * large.
 */
export function readCallArguments(name: string, args: unknown): JsonObject {
  const subject = `the arguments of the model's call ${JSON.stringify(name)}`;
  const text = typeof args === "string" ? args : JSON.stringify(args ?? null);
  if (text.trim() === "") return {};
  const exact = replaceInexactNumbers(text, "0");
  let value: JsonValue;
  try {
    value = parseJson(exact, {
      ...DEFAULT_LIMITS,
      maxBytes: MAX_ARGUMENT_BYTES,
    });
  } catch (cause) {
    if (
      text.length <= MAX_ARGUMENT_BYTES &&
      parseJsonOrUndefined(text) === undefined
    ) {
      throw brokenFault(`${subject} are not valid JSON`, { cause });
    }
    const problem = cause instanceof Error ? cause.message : "cannot be read";
    throw new ModelFault(
      `${subject} are too large: ${problem}`,
      Code.ResourceExhausted,
      { cause },
    );
  }
  if (value === null) return {};
  if (!isObject(value)) throw brokenFault(`${subject} are not an object`);
  if (isObject(args)) return args;
  return exact === text
    ? value
    : JSON.parse(replaceInexactNumbers(text, INFINITE));
}
