import { execFileSync } from "node:child_process";
import { mkdtempSync, readFileSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { CALLED_METHODS } from "../app-server/app-server.ts";
import { CARRIED_NOTIFICATIONS } from "../turn/item-stream.ts";
import { CARRIED_REQUESTS } from "../turn/questions.ts";

/** The names in the JSON Schema of an app-server. */
export interface ProtocolNames {
  /** The version of codex. */
  readonly version: string;
  /** The methods that a client can call. */
  readonly methods: readonly string[];
  /** The notifications that a client can send. */
  readonly clientNotifications: readonly string[];
  /** The requests of the app-server. */
  readonly requests: readonly string[];
  /** The notifications of the app-server. */
  readonly notifications: readonly string[];
  /** The types of items. */
  readonly items: readonly string[];
  /** The variants of the types that the bridge reads or writes, by type. */
  readonly variants: Readonly<Record<string, readonly string[]>>;
}

/** The parts of a JSON Schema that are read. */
interface Schema {
  readonly definitions?: Readonly<Record<string, Schema>>;
  readonly oneOf?: readonly Schema[];
  readonly anyOf?: readonly Schema[];
  readonly allOf?: readonly Schema[];
  readonly enum?: readonly string[];
  readonly properties?: Readonly<Record<string, Schema>>;
}

/**
 * The messages that the bridge reads and sends, by the file that defines them.
 */
const MESSAGES: Readonly<Record<string, readonly string[]>> = {
  ServerNotification: [
    ...CARRIED_NOTIFICATIONS,
    "turn/completed",
    "serverRequest/resolved",
  ],
  ServerRequest: CARRIED_REQUESTS,
  ClientRequest: CALLED_METHODS,
};
/** The files of the answers to requests. */
const ANSWERS: readonly string[] = [
  "CommandExecutionRequestApprovalResponse",
  "FileChangeRequestApprovalResponse",
  "PermissionsRequestApprovalResponse",
  "ToolRequestUserInputResponse",
  "McpServerElicitationRequestResponse",
];
/** The items of a thread, which have a table of their own. */
const LISTED_APART: ReadonlySet<string> = new Set(["ThreadItem"]);

/** Reads the names from the schema that a program generates. */
export function readProtocolNames(program: string): ProtocolNames {
  const directory = mkdtempSync(join(tmpdir(), "devtool-codex-schema-"));
  try {
    execFileSync(program, [
      "app-server",
      "generate-json-schema",
      "--experimental",
      "--out",
      directory,
    ]);
    const schemaOf = (name: string): Schema =>
      JSON.parse(readFileSync(join(directory, `${name}.json`), "utf8"));
    const methodsOf = (name: string): string[] =>
      constantsIn(schemaOf(name), "method");
    const { ThreadItem = {} } =
      schemaOf("ServerNotification").definitions ?? {};
    const ofMessages = Object.entries(MESSAGES).map(([file, wanted]) =>
      variantsOfMessages(schemaOf(file), wanted),
    );
    const ofAnswers = ANSWERS.map((file) =>
      variantsReached(schemaOf(file), schemaOf(file)),
    );
    const modes = constantsIn(
      schemaOf("McpServerElicitationRequestParams"),
      "mode",
    );
    return {
      version:
        /\d+\.\d+\.\d+/.exec(
          execFileSync(program, ["--version"], { encoding: "utf8" }),
        )?.[0] ?? "",
      methods: methodsOf("ClientRequest"),
      clientNotifications: methodsOf("ClientNotification"),
      requests: methodsOf("ServerRequest"),
      notifications: methodsOf("ServerNotification"),
      items: constantsIn(ThreadItem, "type"),
      variants: sorted(
        Object.assign({ ElicitationMode: modes }, ...ofMessages, ...ofAnswers),
      ),
    };
  } finally {
    rmSync(directory, { recursive: true });
  }
}

type Variants = Readonly<Record<string, readonly string[]>>;

/**
 * Returns the variants of all types that some of the messages of a schema
 * reach.
 */
function variantsOfMessages(
  schema: Schema,
  methods: readonly string[],
): Variants {
  const messages = alternatives(schema).filter(({ properties }) =>
    properties?.method?.enum?.some((method) => methods.includes(method)),
  );
  return Object.assign(
    {},
    ...messages.map((message) => variantsReached(schema, message)),
  );
}

/**
 * Returns the variants of all types that a part of a schema reaches, by type.
 */
function variantsReached(
  { definitions = {} }: Schema,
  start: Schema,
): Variants {
  const found: Record<string, readonly string[]> = {};
  const seen = new Set<string>();
  for (const todo = [...referencesIn(start)]; todo.length > 0; ) {
    const name = todo.pop() ?? "";
    const definition = definitions[name];
    if (!definition || seen.has(name)) continue;
    seen.add(name);
    todo.push(...referencesIn(definition));
    const variants = [...new Set(variantsIn(definition))];
    const isChoice =
      definition.enum !== undefined || alternatives(definition).length > 1;
    if (isChoice && variants.length > 1 && !LISTED_APART.has(name)) {
      found[name] = variants;
    }
  }
  return found;
}

/** Returns the names of the definitions that a schema refers to. */
function referencesIn(schema: unknown): string[] {
  if (typeof schema !== "object" || schema === null) return [];
  return Object.entries(schema).flatMap(([key, value]) =>
    key === "$ref" && typeof value === "string"
      ? [value.split("/").at(-1) ?? ""]
      : referencesIn(value),
  );
}

function sorted(variants: Variants): Variants {
  return Object.fromEntries(
    Object.entries(variants).toSorted(([one], [other]) =>
      one < other ? -1 : 1,
    ),
  );
}

/** Returns the constants of a field in the variants of a schema, in order. */
function constantsIn(schema: Schema, field: string): string[] {
  return alternatives(schema).flatMap((variant) => {
    const [constant] = variant.properties?.[field]?.enum ?? [];
    return constant === undefined ? constantsIn(variant, field) : [constant];
  });
}

/**
 * Returns the variants of a type: its constants, the constants of its field
 * `type`, or the names of its only field.
 */
function variantsIn(schema: Schema): string[] {
  if (schema.enum) return [...schema.enum];
  const [type] = schema.properties?.type?.enum ?? [];
  if (type !== undefined) return [type];
  const fields = Object.keys(schema.properties ?? {});
  return fields.length === 1
    ? fields
    : alternatives(schema).flatMap(variantsIn);
}

function alternatives({
  oneOf = [],
  anyOf = [],
  allOf = [],
}: Schema): Schema[] {
  return [...oneOf, ...anyOf, ...allOf];
}
