import { RequestRefused } from "@devtool/coding-agent/testing/fake-model";
import { isObject } from "@devtool/internal/json";

/** Refuses a request as invalid. */
export function refuse(message: string, param?: string): never {
  throw new RequestRefused(
    param === undefined
      ? { status: 400, message }
      : { status: 400, message, param },
  );
}

/**
 * Returns a value if it is an object with no other fields than the given ones;
 * refuses the request otherwise.
 */
export function checkObject(
  value: unknown,
  param: string,
  known?: ReadonlySet<string>,
): Readonly<Record<string, unknown>> {
  if (!isObject(value)) {
    refuse(`Invalid type for '${param}': expected an object.`, param);
  }
  for (const name of Object.keys(value)) {
    const path = param === "body" ? name : `${param}.${name}`;
    if (known && !known.has(name)) {
      refuse(`Unknown parameter: '${path}'.`, path);
    }
  }
  return value;
}

/** Returns a value if it is a string; refuses the request otherwise. */
export function checkString(value: unknown, param: string): string {
  if (typeof value !== "string") {
    refuse(`Invalid type for '${param}': expected a string.`, param);
  }
  return value;
}

/**
 * Returns a value if it is a list with at least one item; refuses the request
 * otherwise.
 */
export function checkList(value: unknown, param: string): readonly unknown[] {
  if (!Array.isArray(value)) {
    refuse(`Invalid type for '${param}': expected an array.`, param);
  }
  if (value.length === 0) {
    refuse(
      `Invalid '${param}': empty array. Expected an array with minimum length 1.`,
      param,
    );
  }
  return value;
}

/** Returns one of the given values; refuses the request for any other. */
export function checkOneOf<T extends string>(
  value: unknown,
  param: string,
  values: readonly T[],
): T {
  const found = values.find((each) => each === value);
  if (found === undefined) {
    refuse(
      `Invalid value: '${String(value)}'. Supported values are: ${values.join(", ")}.`,
      param,
    );
  }
  return found;
}

/** Refuses a name of a tool that OpenAI refuses. */
export function checkToolName(value: unknown, param: string): string {
  const name = checkString(value, param);
  if (!/^[a-zA-Z0-9_-]{1,64}$/.test(name)) {
    refuse(
      `Invalid '${param}': string does not match pattern. Expected a string that matches '^[a-zA-Z0-9_-]+$'.`,
      param,
    );
  }
  return name;
}

/** Refuses a schema of a tool's arguments that OpenAI refuses. */
export function checkParameters(value: unknown, param: string): void {
  const schema = checkObject(value, param);
  const refused = ["anyOf", "oneOf", "allOf", "enum", "not"];
  if (refused.some((word) => word in schema)) {
    refuse(
      "Invalid schema for function: schema must have type 'object' and not have 'oneOf'/'anyOf'/'allOf'/'enum'/'not' at the top level.",
      param,
    );
  }
}

/** Refuses arguments of a call that are not a JSON object. */
export function checkArguments(value: unknown, param: string): void {
  const text = checkString(value, param);
  try {
    if (isObject(JSON.parse(text))) return;
  } catch {
    // Refused below.
  }
  refuse(`Invalid '${param}': expected a JSON object as a string.`, param);
}

/**
 * Refuses an image that is neither an address nor base64 data of a known type.
 */
export function checkImageUrl(value: unknown, param: string): void {
  const url = checkString(value, param);
  if (
    !/^(https?:\/\/|data:image\/(png|jpeg|gif|webp);base64,[A-Za-z0-9+/]+={0,2}$)/.test(
      url,
    )
  ) {
    refuse(
      `Invalid '${param}'. Expected a base64-encoded data URL with an image MIME type, or a valid URL.`,
      param,
    );
  }
}

/** Tracks calls and their results in a conversation. */
export class CallLedger {
  readonly #names = new Map<string, string>();
  readonly #open = new Set<string>();

  add(id: string, name: string): void {
    this.#names.set(id, name);
    this.#open.add(id);
  }

  /**
   * Returns the name of the call that a result belongs to; refuses a result
   * that has no call, or a second one.
   */
  settle(id: string, param: string): string {
    const name = this.#names.get(id);
    if (name === undefined) {
      refuse(
        `No tool call found for function call output with call_id ${id}.`,
        param,
      );
    }
    this.#open.delete(id);
    return name;
  }

  /** Refuses calls that have no result. */
  checkSettled(param: string): void {
    const [id] = this.#open;
    if (id !== undefined) {
      refuse(`No tool output found for function call ${id}.`, param);
    }
  }
}
