import { readFile, stat } from "node:fs/promises";
import { resolve } from "node:path";
import {
  create,
  type DescEnum,
  type DescMessage,
  type JsonValue,
} from "@bufbuild/protobuf";
import { isObject, plainJson } from "@devtool/internal/json";
import { decodeStrictJson } from "@devtool/schema";
import {
  type ServerConfig,
  ServerConfigSchema,
} from "@devtool/schema/operator";
import { errorCode, errorMessage } from "./errors.ts";

/**
 * Reads the operator's config file: the named one, or `config.toml` in the data
 * directory, which may be missing.
 *
 * Throws an error that names the file and what is wrong with it.
 */
export async function readConfig(
  named: string | undefined,
  dataDirectory: string,
): Promise<ServerConfig> {
  const path = named ?? resolve(dataDirectory, "config.toml");
  const text = await readFile(path, "utf8").catch((reason: unknown) => {
    if (named === undefined && errorCode(reason) === "ENOENT") return undefined;
    throw new Error(
      `config file "${path}" cannot be read: ${errorMessage(reason)}`,
    );
  });
  if (text === undefined) return create(ServerConfigSchema);
  // The file can name commands that the server starts.
  const { mode, uid } = await stat(path);
  if ((mode & 0o022) !== 0) {
    throw new Error(
      `config file "${path}" may be changed by others: chmod go-w it`,
    );
  }
  if (uid !== 0 && uid !== process.getuid?.()) {
    throw new Error(
      `config file "${path}" belongs to another user: look at what it says, and chown it`,
    );
  }
  const { parseToml } = await import("./parse-toml.ts");
  try {
    const json = plainJson(parseToml(text));
    assertNoPlaceholder(json, "");
    return decodeStrictJson(
      ServerConfigSchema,
      withEnumNames(ServerConfigSchema, json),
      "",
      { spelling: "name" },
    );
  } catch (reason) {
    // A table or a list may hold secrets, and the error goes into logs.
    const problem = errorMessage(reason).replace(/, got [[{].*$/s, "");
    throw new Error(`config file "${path}" cannot be used: ${problem}`);
  }
}

/** A variable as the settings of other programs have it, such as `${TOKEN}`. */
const PLACEHOLDER = /\$\{(\w*)[^{}]*\}/;

/**
 * Throws for a variable in a value: it is not replaced, so an MCP server would
 * get it in place of the key that it stands for. A script behind `-c` may have
 * variables of its own.
 */
function assertNoPlaceholder(json: JsonValue, place: string): void {
  if (typeof json === "string") {
    const [, name] = PLACEHOLDER.exec(json) ?? [];
    if (name === undefined) return;
    throw new Error(
      `${place} has the variable "\${${name}}", and variables are not replaced: write the value itself, and keep the file to yourself (chmod 600)`,
    );
  }
  if (Array.isArray(json)) {
    if (json.includes("-c")) return;
    for (const item of json) assertNoPlaceholder(item, place);
    return;
  }
  if (!isObject(json)) return;
  for (const [key, value] of Object.entries(json)) {
    assertNoPlaceholder(value, place === "" ? key : `${place}.${key}`);
  }
}

/**
 * Returns the value with the full names of enum values: a file has `auto_edit`
 * for `APPROVAL_MODE_AUTO_EDIT`.
 */
function withEnumNames(schema: DescMessage, json: JsonValue): JsonValue {
  if (!isObject(json)) return json;
  const entries = Object.entries(json).map(
    ([key, value]): [string, JsonValue] => {
      const field = schema.fields.find(
        ({ name, jsonName }) => name === key || jsonName === key,
      );
      const convert = (item: JsonValue): JsonValue => {
        if (field?.enum) return enumName(key, item, field.enum);
        return field?.message ? withEnumNames(field.message, item) : item;
      };
      return [key, Array.isArray(value) ? value.map(convert) : convert(value)];
    },
  );
  return Object.fromEntries(entries);
}

function enumName(key: string, value: JsonValue, schema: DescEnum): JsonValue {
  if (typeof value !== "string") return value;
  const prefix = schema.values[0]?.name.replace(/UNSPECIFIED$/, "") ?? "";
  const found = schema.values.find(
    ({ name }) => name === `${prefix}${value.toUpperCase()}`,
  );
  if (found) return found.name;
  const choices = schema.values
    .slice(1)
    .map(({ name }) => name.slice(prefix.length).toLowerCase());
  throw new Error(`${key} "${value}" is unknown: choose ${choices.join(", ")}`);
}
