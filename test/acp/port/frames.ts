import { readFileSync } from "node:fs";
import { createRequire } from "node:module";
import { isObject, objectOrEmpty } from "@devtool/internal/json";
import { Ajv2020, type ValidateFunction } from "ajv/dist/2020.js";

const path = createRequire(import.meta.url).resolve(
  "@agentclientprotocol/sdk/schema/v1/schema.json",
);

/** The JSON schema of ACP v1, as the SDK publishes it. */
const SCHEMA: { readonly [key: string]: unknown } = objectOrEmpty(
  JSON.parse(readFileSync(path, "utf8")),
);

/** The definitions of the schema, by name. */
export const DEFINITIONS: { readonly [name: string]: unknown } = objectOrEmpty(
  SCHEMA.$defs,
);

/** Checks frames of an agent against the schema of ACP v1. */
export class FrameChecker {
  readonly #ajv = new Ajv2020({
    strict: false,
    validateFormats: false,
    allErrors: true,
  });
  readonly #methods = new Map<unknown, string>();
  readonly problems: string[] = [];

  constructor() {
    this.#ajv.addSchema({ ...SCHEMA, $id: "acp" });
  }

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
      this.#validate("Error", error, line);
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
      definition === undefined
        ? undefined
        : this.#ajv.getSchema(`acp#/$defs/${definition}`);
    if (!validate) {
      this.problems.push(`no schema for ${line}`);
    } else if (!validate(value)) {
      this.problems.push(`${this.#ajv.errorsText(validate.errors)} in ${line}`);
    }
  }
}

/** The definition of a method's parameters or result. */
function definitionOf(
  method: string,
  part: "params" | "result",
): string | undefined {
  const names = Object.entries(DEFINITIONS).flatMap(([name, definition]) =>
    isObject(definition) && definition["x-method"] === method ? [name] : [],
  );
  return names.find(
    (name) => name.endsWith("Response") === (part === "result"),
  );
}
