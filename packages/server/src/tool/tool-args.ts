import type { JsonObject, JsonValue } from "@bufbuild/protobuf";
import { invalid } from "../errors.ts";

/** What one argument of a tool is: its type, and words for the model. */
export interface Parameter {
  readonly type: "string" | "integer" | "boolean" | "array";
  readonly description: string;
  /** The JSON Schema of the elements of an array; whoever takes them checks them. */
  readonly items?: JsonObject;
}

/** The arguments of a tool by name: those it needs and those it may be given. */
export interface Parameters {
  readonly required: Readonly<Record<string, Parameter>>;
  readonly optional: Readonly<Record<string, Parameter>>;
}

/** Parameters as the JSON Schema that a model reads; written once, since tools are made anew for every turn. */
export function jsonSchemaOf(parameters: Parameters): JsonObject {
  const known = schemas.get(parameters);
  if (known) return known;
  const schema = writeSchema(parameters);
  schemas.set(parameters, schema);
  return schema;
}

const schemas = new WeakMap<Parameters, JsonObject>();

function writeSchema({ required, optional }: Parameters): JsonObject {
  const properties = Object.entries({ ...required, ...optional }).map(([name, { type, description, items }]) => [
    name,
    { type, description, ...(items && { items }) },
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

  /** A yes or no; no when it was left out. */
  flag(name: string): boolean {
    return this.#args[name] === true;
  }

  /** The elements of an array; none when it was left out. */
  list(name: string): readonly JsonValue[] {
    const value = this.#args[name];
    return Array.isArray(value) ? value : [];
  }

  /** The elements of an array of texts. */
  texts(name: string): string[] {
    return this.list(name).map((value, index) => {
      if (typeof value === "string") return value;
      throw invalid(`${name}[${index}]`, JSON.stringify(value), "must be of type string");
    });
  }

  /** The elements of an array of objects, each with arguments of its own. */
  objects(name: string, parameters: Parameters): ToolArgs[] {
    return this.list(name).map((value, index) => {
      if (isObject(value)) return new ToolArgs(value, parameters);
      throw invalid(`${name}[${index}]`, JSON.stringify(value), "must be of type object");
    });
  }
}

function isObject(value: JsonValue): value is JsonObject {
  return typeof value === "object" && value !== null && !Array.isArray(value);
}

function check(name: string, value: JsonValue | undefined, type: Parameter["type"]): void {
  if (value === undefined) throw invalid(name, "", `is missing: it must be of type ${type}`);
  if (!FITS[type](value)) throw invalid(name, JSON.stringify(value), `must be of type ${type}`);
}

const FITS: Readonly<Record<Parameter["type"], (value: JsonValue) => boolean>> = {
  string: (value) => typeof value === "string",
  boolean: (value) => typeof value === "boolean",
  integer: (value) => Number.isSafeInteger(value),
  array: (value) => Array.isArray(value),
};
