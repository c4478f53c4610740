import type { JsonObject, JsonValue } from "@bufbuild/protobuf";
import { isObject } from "@devtool/internal/json";
import { Code, DevtoolError, quoted } from "@devtool/server/agent";

/** What a step has come to, for the texts of later ones. */
export interface StepValue {
  readonly result: JsonObject;
  /** Why the step failed. Empty if it has not. */
  readonly error: string;
  /** Whether it is of the run that this one goes on with. */
  readonly isKept: boolean;
}

/** The values that the texts of a step refer to. */
export interface Scope {
  readonly input: JsonObject;
  readonly inputs: JsonObject;
  /** By id. A step that has not run yet is missing. */
  readonly steps: Pick<ReadonlyMap<string, StepValue>, "get">;
}

/** The names of a reference, such as `["steps", "x", "result", "text"]`. */
export type Reference = readonly string[];

const REFERENCE = /\{\{\s*([^{}]*?)\s*\}\}/g;
const NAME = /^[\w-]+$/;

/**
 * Returns the references of a text. Throws `Code.InvalidArgument` for braces
 * that hold none.
 */
export function referencesOf(text: string): readonly Reference[] {
  const rest = text.replace(REFERENCE, "");
  if (rest.includes("{{") || rest.includes("}}")) {
    throw badReference("{{", "is not closed, or not opened");
  }
  return [...text.matchAll(REFERENCE)].map(([whole, path = ""]) => {
    const names = path.split(".");
    if (!names.every((name) => NAME.test(name))) {
      throw badReference(whole, "is not names with dots between them");
    }
    return names;
  });
}

function badReference(value: string, problem: string): DevtoolError {
  return new DevtoolError(
    `reference ${quoted(value)} ${problem}`,
    Code.InvalidArgument,
    {
      remedy:
        "write {{steps.ID.result.text}}, {{input.text}} or {{inputs.NAME}}",
    },
  );
}

/** Returns a text with the values of its references, as they are now. */
export function render(text: string, scope: Scope): string {
  return text.replace(REFERENCE, (_, path: string) =>
    textOfValue(valueAt(path.split("."), scope)),
  );
}

/**
 * Returns the result that a text stands for: the whole one that it refers to, if
 * it is one such reference, or else its text.
 */
export function renderResult(text: string, scope: Scope): JsonObject {
  const [, path = ""] = /^\{\{\s*([^{}]*?)\s*\}\}$/.exec(text.trim()) ?? [];
  const value = path === "" ? undefined : valueAt(path.split("."), scope);
  return isObject(value) ? value : { text: render(text, scope) };
}

function textOfValue(value: JsonValue): string {
  return typeof value === "string" ? value : JSON.stringify(value);
}

function valueAt(names: Reference, scope: Scope): JsonValue {
  const [root = "", ...path] = names;
  if (root === "input") return fieldOf(scope.input, path, names);
  if (root === "inputs") return fieldOf(scope.inputs, path, names);
  const [id = "", kind, ...inside] = path;
  const step = scope.steps.get(id);
  // A step of a loop that has its first round before it.
  if (!step) return "";
  return kind === "error" ? step.error : fieldOf(step.result, inside, names);
}

function fieldOf(
  from: JsonObject,
  path: readonly string[],
  whole: Reference,
): JsonValue {
  let value: JsonValue = from;
  for (const name of path) {
    const found: JsonValue | undefined =
      isObject(value) && Object.hasOwn(value, name) ? value[name] : undefined;
    if (found === undefined) {
      const has = isObject(value)
        ? Object.keys(value).map(quoted).join(", ")
        : "";
      throw new DevtoolError(
        `{{${whole.join(".")}}} has no ${quoted(name)}`,
        Code.FailedPrecondition,
        { remedy: has === "" ? "it has no fields" : `it has ${has}` },
      );
    }
    value = found;
  }
  return value;
}
