import type { JsonObject, JsonValue } from "@bufbuild/protobuf";
import { invalid } from "../errors.ts";

/** What one argument of a tool is: its type, and words for the model. */
export interface Parameter {
  readonly type: "string" | "integer" | "boolean";
  readonly description: string;
}

/** The arguments of a tool by name: those it needs and those it may be given. */
export interface Parameters {
  readonly required: Readonly<Record<string, Parameter>>;
  readonly optional: Readonly<Record<string, Parameter>>;
}

/** Writes parameters as the JSON Schema that a model reads. */
export function jsonSchemaOf({ required, optional }: Parameters): JsonObject {
  const properties = Object.entries({ ...required, ...optional }).map(([name, { type, description }]) => [
    name,
    { type, description },
  ]);
  return { type: "object", properties: Object.fromEntries(properties), required: Object.keys(required) };
}

/** The arguments of one call, checked against the parameters. Throws `Code.InvalidArgument` that names the argument. */
export class ToolArgs {
  readonly #args: JsonObject;

  constructor(args: JsonObject, { required, optional }: Parameters) {
    for (const [name, { type }] of Object.entries(required)) check(name, args[name], type);
    for (const [name, { type }] of Object.entries(optional))
      if (args[name] !== undefined) check(name, args[name], type);
    this.#args = args;
  }

  /** A text argument; empty when it was left out. */
  text(name: string): string {
    const value = this.#args[name];
    return typeof value === "string" ? value : "";
  }

  /** A whole number; the default when it was left out. */
  integer(name: string, fallback: number): number {
    const value = this.#args[name];
    return typeof value === "number" ? value : fallback;
  }
}

function check(name: string, value: JsonValue | undefined, type: Parameter["type"]): void {
  if (value === undefined) throw invalid(name, "", `is missing: it must be of type ${type}`);
  const fits = type === "integer" ? Number.isSafeInteger(value) : typeof value === type;
  if (!fits) throw invalid(name, JSON.stringify(value), `must be of type ${type}`);
}
