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

const REFERENCE = /\{\{([^{}]*)\}\}/g;
const NAME = /^[\w-]+$/;
const MAX_TEXT_LENGTH = 1_048_576;

/**
 * Returns the references of a text. Throws `Code.InvalidArgument` for braces
 * that hold none.
 */
export function referencesOf(text: string): readonly Reference[] {
  const rest = text.replace(REFERENCE, " ");
  const [literal] = /\{\{|\}\}/.exec(rest) ?? [];
  if (literal) {
    throw new DevtoolError(
      `${quoted(literal)} is not part of a reference`,
      Code.InvalidArgument,
      {
        remedy:
          "close the reference, or give a text with such braces as {{input.NAME}}",
      },
    );
  }
  return [...text.matchAll(REFERENCE)].map(([whole, path = ""]) => {
    const names = namesOf(path);
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

function namesOf(path: string): Reference {
  return path.trim().split(".");
}

/**
 * Returns a text with the values of its references, as they are now. Throws
 * `Code.ResourceExhausted` for one that is too long.
 */
export function render(text: string, scope: Scope): string {
  const rendered = text.replace(REFERENCE, (_, path: string) =>
    textOfValue(valueAt(namesOf(path), scope)),
  );
  if (rendered.length <= MAX_TEXT_LENGTH) return rendered;
  throw new DevtoolError(
    `a text has ${rendered.length} characters with the values that it refers to: limit is ${MAX_TEXT_LENGTH}`,
    Code.ResourceExhausted,
  );
}

/**
 * Returns the result that a text stands for: the whole one that it refers to, if
 * it is one such reference, or else its text.
 */
export function renderResult(text: string, scope: Scope): JsonObject {
  const [, path = ""] = /^\{\{([^{}]*)\}\}$/.exec(text.trim()) ?? [];
  const value = path === "" ? undefined : valueAt(namesOf(path), scope);
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
