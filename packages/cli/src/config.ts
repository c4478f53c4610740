import { readFile, stat } from "node:fs/promises";
import { resolve } from "node:path";
import {
  create,
  type DescEnum,
  type DescMessage,
  type JsonValue,
} from "@bufbuild/protobuf";
import {
  grants,
  isOfAnother,
  OTHERS_WRITE,
} from "@devtool/internal/file-access";
import { isObject, plainJson } from "@devtool/internal/json";
import { decodeStrictJson } from "@devtool/schema";
import {
  type ServerConfig,
  ServerConfigSchema,
} from "@devtool/schema/operator";
import { errorCode, errorMessage } from "./errors.ts";

/** Environment variables by name. */
type Environment = Readonly<Record<string, string | undefined>>;

/**
 * Reads the operator's config file: the named one, or `config.toml` in the data
 * directory, which may be missing. Variables such as `${TOKEN}` in the settings
 * of MCP servers are replaced from `environment`.
 *
 * Throws an error that names the file and what is wrong with it.
 */
export async function readConfig(
  named: string | undefined,
  dataDirectory: string,
  environment: Environment = process.env,
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
  const stats = await stat(path);
  if (grants(stats, OTHERS_WRITE)) {
    throw new Error(
      `config file "${path}" may be changed by others: chmod go-w it`,
    );
  }
  if (stats.uid !== 0 && isOfAnother(stats)) {
    throw new Error(
      `config file "${path}" belongs to another user: look at what it says, and chown it`,
    );
  }
  const { parseToml } = await import("./parse-toml.ts");
  try {
    const json = replaceVariables(plainJson(parseToml(text)), "", environment);
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
const VARIABLE = /\$\{(\w*)([^{}]*)\}/g;

/** Where variables are replaced: none of it is shown to users or models. */
const REPLACED = /^mcp_servers\.(stdio\.env\.|(http|sse)\.(url$|headers\.))/;

/**
 * Returns the value with the variables of the operator's environment in place.
 *
 * Throws for one that is not set, and for one elsewhere, which a program would
 * get in place of what it stands for. A script behind `-c` may have variables of
 * its own.
 */
function replaceVariables(
  json: JsonValue,
  place: string,
  environment: Environment,
): JsonValue {
  if (typeof json === "string") {
    return json.replace(VARIABLE, (_, name: string, more: string) =>
      readVariable({ name, more, place }, environment),
    );
  }
  if (Array.isArray(json)) {
    // A shell replaces the variables of its script itself.
    return json.some((item) => /^-[a-z]*c$/.test(String(item)))
      ? json
      : json.map((item) => replaceVariables(item, place, environment));
  }
  if (!isObject(json)) return json;
  return Object.fromEntries(
    Object.entries(json).map(([key, value]) => {
      const inside = place === "" ? key : `${place}.${key}`;
      return [key, replaceVariables(value, inside, environment)];
    }),
  );
}

function readVariable(
  {
    name,
    more,
    place,
  }: {
    readonly name: string;
    readonly more: string;
    readonly place: string;
  },
  environment: Environment,
): string {
  const problem = `${place} has the variable "\${${name}}"`;
  if (!REPLACED.test(place)) {
    throw new Error(
      `${problem}, and variables are replaced only in env, headers and url of mcp_servers: write the value itself, and keep the file to yourself (chmod 600)`,
    );
  }
  if (more !== "") {
    throw new Error(`${problem} with more than a name: write \${NAME}`);
  }
  const value = environment[name];
  if (value !== undefined) return value;
  throw new Error(
    `${problem}, which is not set where devtool runs: set it, or write the value itself`,
  );
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
  const prefix = enumPrefix(schema);
  const found = schema.values.find(
    ({ name }) => name === `${prefix}${value.toUpperCase()}`,
  );
  if (found) return found.name;
  const choices = schema.values
    .slice(1)
    .map(({ name }) => name.slice(prefix.length).toLowerCase());
  throw new Error(`${key} "${value}" is unknown: choose ${choices.join(", ")}`);
}

/** Returns what a file leaves out in front of the values of an enum. */
export function enumPrefix({ values }: DescEnum): string {
  return values[0]?.name.replace(/UNSPECIFIED$/, "") ?? "";
}
