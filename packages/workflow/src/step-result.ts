import type { JsonObject } from "@bufbuild/protobuf";
import { isObject, parseJsonOrUndefined } from "@devtool/internal/json";
import { confirmationsOf, type Part, Role, type Task } from "@devtool/schema";
import { Code, DevtoolError } from "@devtool/server/agent";

const MAX_RESULT_BYTES = 262_144;

/**
 * Returns what an agent's task has come to: `text`, its last answer, and the
 * fields of its data: of the answer itself, if that is a JSON object, and of
 * data parts in its last turn and its artifacts.
 *
 * Throws `Code.ResourceExhausted` for a result of more than 262,144 bytes.
 */
export function stepResult(task: Task): JsonObject {
  const { history, artifacts, stateText } = task;
  const prompt = history.findLastIndex(
    (message) =>
      message.role === Role.USER && confirmationsOf(message).length === 0,
  );
  const work = history
    .slice(prompt + 1)
    .filter(({ role }) => role === Role.AGENT);
  const said = work.map(({ parts }) => textOf(parts));
  const made = artifacts.map(({ parts }) => textOf(parts));
  const text =
    said.findLast((one) => one.trim() !== "") ??
    (stateText || made.join("\n\n"));
  const answer = parseJsonOrUndefined(text);
  const data = [...work, ...artifacts].flatMap(({ parts }) => dataOf(parts));
  const result = Object.assign({}, isObject(answer) && answer, ...data, {
    text,
  });
  const bytes = Buffer.byteLength(JSON.stringify(result));
  if (bytes <= MAX_RESULT_BYTES) return result;
  throw new DevtoolError(
    `its result has ${bytes} bytes: limit is ${MAX_RESULT_BYTES}; have the agent write it to a file, and answer with the name`,
    Code.ResourceExhausted,
  );
}

function dataOf(parts: readonly Part[]): JsonObject[] {
  return parts.flatMap(({ content }) =>
    content.case === "data" ? [content.value] : [],
  );
}

/** Joins the texts of parts. */
export function textOf(parts: readonly Part[]): string {
  return parts
    .flatMap(({ content }) => (content.case === "text" ? content.value : []))
    .join("");
}
