import { access } from "node:fs/promises";
import { join, resolve } from "node:path";
import { type DescEnum, toJson } from "@bufbuild/protobuf";
import {
  isReflectMessage,
  type ReflectMessage,
  reflect,
} from "@bufbuild/protobuf/reflect";
import { shownUrl } from "@devtool/internal/shown-url";
import { ServerConfigSchema } from "@devtool/schema/operator";
import {
  describeModel,
  type OperatorConfig,
  operatorConfig,
} from "../agents/agent-options.ts";
import { enumPrefix } from "../config.ts";
import { defaultDataDirectory } from "../connection/discovery.ts";
import { ExitCode } from "../exit-code.ts";
import { type Io, writeLine } from "../io.ts";
import { KEY_VARIABLES, MODEL_KEYS } from "../model-keys.ts";
import { ownCommand } from "../own-command.ts";
import { visibleName } from "../render/style.ts";

/** The options of `devtool config` and of the commands below it. */
interface ConfigOptions {
  readonly data?: string;
  readonly config?: string;
}

/** A setting, its value without secrets, and what sets it. */
type Row = readonly [setting: string, value: string, from: string];

/** What holds where neither the file nor the environment says otherwise. */
const DEFAULTS: readonly (readonly [setting: string, value: string])[] = [
  ["agents", "devtool"],
  ["approval_mode", "default"],
  ["client_mcp_servers", "http"],
  ["console.enabled", "true"],
  ["host", "127.0.0.1"],
  ["log.level", "info"],
  ["port", "41242"],
  ["sandbox", "auto"],
  ["store.url", "tasks.db in the data directory"],
];

/** The variables by which a model is chosen, beside its kept key. */
const MODEL_VARIABLES = [
  "GOOGLE_API_KEY",
  "GOOGLE_CLOUD_PROJECT",
  "GOOGLE_CLOUD_LOCATION",
  "GOOGLE_GENAI_USE_VERTEXAI",
  "GOOGLE_GEMINI_BASE_URL",
  "GOOGLE_VERTEX_BASE_URL",
  "GEMINI_MODEL",
  "OPENAI_BASE_URL",
  "OPENAI_MODEL",
  "OPENAI_ORG_ID",
  "OPENAI_PROJECT_ID",
  "ANTHROPIC_BASE_URL",
  "ANTHROPIC_MODEL",
];

/**
 * `devtool config`: prints the settings with which a server starts here without
 * flags, and what sets each. Values that may be secrets are not shown.
 */
export async function showConfig(
  options: ConfigOptions,
  io: Io,
): Promise<number> {
  const { path, data } = placesOf(options, io);
  const operator = await operatorConfig(options.config, data);
  const file = visibleName(path);
  const set = [...settingsOf(reflect(ServerConfigSchema, operator.config), "")];
  const names = new Set(set.map(([name]) => name));
  const unset = DEFAULTS.filter(([name]) => !names.has(name));
  const rows: readonly Row[] = [
    ["data directory", visibleName(data), dataSource(options, io)],
    [
      "config file",
      file,
      (await isThere(path))
        ? ""
        : `missing: "${ownCommand(io.env)} init" makes it`,
    ],
    [
      "model",
      describeModel(operator, io) || "scripted",
      keySources(operator, io),
    ],
    ...[
      ...set.map(([name, value]): Row => [name, value, "config file"]),
      ...unset.map(([name, value]): Row => [name, value, "default"]),
    ].toSorted(([one], [other]) => (one < other ? -1 : 1)),
  ];
  const widths = [0, 1].map((column) =>
    Math.min(40, Math.max(...rows.map((row) => row[column]?.length ?? 0))),
  );
  for (const row of rows) {
    const cells = row.map((cell, column) => cell.padEnd(widths[column] ?? 0));
    writeLine(io.stdout, cells.join("  ").trimEnd());
  }
  return ExitCode.OK;
}

/** `devtool config path`: prints the path of the config file. */
export function configPath(options: ConfigOptions, io: Io): number {
  writeLine(io.stdout, visibleName(placesOf(options, io).path));
  return ExitCode.OK;
}

/**
 * `devtool config check`: reads the configuration with its token, key, policy
 * and agent files, the rules of the user and their workflows, as a server does
 * before it opens its store and its port. Throws for the first that cannot be
 * used.
 */
export async function checkConfig(
  options: ConfigOptions,
  io: Io,
): Promise<number> {
  const { path, data } = placesOf(options, io);
  const operator = await operatorConfig(options.config, data);
  const { checkServer } = await import("./serve.ts");
  await checkServer(operator, data, io);
  writeLine(
    io.stdout,
    (await isThere(path))
      ? `${visibleName(path)} can be used`
      : `there is no ${visibleName(path)}: the defaults hold`,
  );
  return ExitCode.OK;
}

function placesOf(
  { data, config }: ConfigOptions,
  { env }: Io,
): { readonly path: string; readonly data: string } {
  const directory = resolve(data ?? defaultDataDirectory(env));
  const path = resolve(config ?? join(directory, "config.toml"));
  return { path, data: directory };
}

function isThere(path: string): Promise<boolean> {
  return access(path).then(
    () => true,
    () => false,
  );
}

function dataSource({ data }: ConfigOptions, { env }: Io): string {
  if (data !== undefined) return "--data";
  return env.DEVTOOL_DATA ? "$DEVTOOL_DATA" : "default";
}

/** Names the variables and the file that choose the model. */
function keySources({ keys = {} }: OperatorConfig, { env }: Io): string {
  const variables = [...Object.values(KEY_VARIABLES), ...MODEL_VARIABLES];
  const kept = Object.keys(keys).filter((name) => !env[name]);
  return [
    ...variables.filter((name) => env[name]).map((name) => `$${name}`),
    ...kept.map((name) => `${name} in ${MODEL_KEYS}`),
  ].join(", ");
}

/** Lists what a message sets, by the names of the file. */
function* settingsOf(
  message: ReflectMessage,
  prefix: string,
): Iterable<readonly [name: string, value: string]> {
  for (const field of message.fields) {
    const name = `${prefix}${field.name}`;
    if (!message.isSet(field)) continue;
    switch (field.fieldKind) {
      case "scalar":
        yield [name, plain(message.get(field))];
        break;
      case "enum":
        yield [name, enumWord(field.enum, Number(message.get(field)))];
        break;
      case "message": {
        const value = message.get(field);
        // A duration, the only one of the well-known types.
        if (value.desc.typeName.startsWith("google.protobuf.")) {
          yield [name, String(toJson(value.desc, value.message))];
        } else {
          yield* settingsOf(value, `${name}.`);
        }
        break;
      }
      case "list": {
        const items = [...message.get(field)].map((item) =>
          field.listKind === "enum"
            ? enumWord(field.enum, Number(item))
            : itemText(item),
        );
        yield [name, items.join(", ")];
        break;
      }
      case "map":
        // Headers may be secrets, and their names are none.
        yield [name, [...message.get(field).keys()].join(", ")];
        break;
      default:
        field satisfies never;
    }
  }
}

/** A table of a list stands by its name: its other fields may be secrets. */
function itemText(item: unknown): string {
  if (!isReflectMessage(item)) return plain(item);
  const names = item.fields.filter(({ name }) => ITEM_NAMES.includes(name));
  const named = names.find((field) => item.isSet(field));
  const [word = ""] = named ? String(item.get(named)).split(" ") : [];
  return word === "" ? "(a table)" : plain(word);
}

/** The fields by which a table of a list is known. */
const ITEM_NAMES = ["name", "module", "model"];

/** Returns a value in a line, a URL without what may be secret. */
function plain(value: unknown): string {
  const text = String(value);
  const isUrl = /^\s*([\w+.-]+:\/\/|https?:)/i.test(text);
  return visibleName(isUrl ? shownUrl(text) : text);
}

function enumWord(schema: DescEnum, number: number): string {
  const { name = "" } = schema.value[number] ?? {};
  return name.slice(enumPrefix(schema).length).toLowerCase();
}
