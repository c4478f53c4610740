import { readFileSync } from "node:fs";
import { createRequire } from "node:module";
import { isObject, objectOrEmpty } from "@devtool/internal/json";
import { Ajv2020, type ValidateFunction } from "ajv/dist/2020.js";

type JsonSchema = { readonly [key: string]: unknown };

/** The JSON schema of ACP v1, as the SDK publishes it. */
const SCHEMA = readSchema("schema.json");
/** The same with what is not part of ACP yet, such as `session/fork`. */
const UNSTABLE = readSchema("schema.unstable.json");

/** Compiles each definition once, which takes longer than a turn. */
const AJV = new Ajv2020({
  strict: false,
  validateFormats: false,
  allErrors: true,
})
  .addSchema({ ...SCHEMA, $id: "acp" })
  .addSchema({ ...UNSTABLE, $id: "unstable" });

/** The definitions of the schema, by name. */
export const DEFINITIONS = objectOrEmpty(SCHEMA.$defs);

function readSchema(name: string): JsonSchema {
  const path = createRequire(import.meta.url).resolve(
    `@agentclientprotocol/sdk/schema/v1/${name}`,
  );
  return objectOrEmpty(JSON.parse(readFileSync(path, "utf8")));
}

/** Checks frames of an agent against the schema of ACP v1. */
export class FrameChecker {
  readonly #methods = new Map<unknown, string>();
  readonly problems: string[] = [];

  /**
   * Remembers which method a request of the client calls, so that its answer
   * can be checked.
   */
  request(id: unknown, method: string): void {
    this.#methods.set(id, method);
  }

  /** Checks a line of the agent, and returns its frame. */
  check(line: string): { readonly [key: string]: unknown } {
    const frame: unknown = JSON.parse(line);
    if (!isObject(frame) || frame.jsonrpc !== "2.0") {
      this.problems.push(`not a frame: ${line}`);
      return {};
    }
    const { method, id, params, result, error } = frame;
    if (typeof method === "string") {
      this.#validate(definitionOf(method, "params"), params, line);
    } else if (error !== undefined) {
      this.#validate("acp#/$defs/Error", error, line);
    } else {
      this.#validate(
        definitionOf(this.#methods.get(id) ?? "", "result"),
        result,
        line,
      );
    }
    return frame;
  }

  #validate(
    definition: string | undefined,
    value: unknown,
    line: string,
  ): void {
    const validate: ValidateFunction | undefined =
      definition === undefined ? undefined : AJV.getSchema(definition);
    if (!validate) {
      this.problems.push(`no schema for ${line}`);
    } else if (!validate(value)) {
      this.problems.push(`${AJV.errorsText(validate.errors)} in ${line}`);
    }
  }
}

/** The reference of the definition of a method's parameters or result. */
function definitionOf(
  method: string,
  part: "params" | "result",
): string | undefined {
  for (const [id, schema] of [
    ["acp", SCHEMA],
    ["unstable", UNSTABLE],
  ] as const) {
    const found = Object.entries(objectOrEmpty(schema.$defs)).find(
      ([name, definition]) =>
        objectOrEmpty(definition)["x-method"] === method &&
        name.endsWith("Response") === (part === "result"),
    );
    if (found) return `${id}#/$defs/${found[0]}`;
  }
  return undefined;
}
