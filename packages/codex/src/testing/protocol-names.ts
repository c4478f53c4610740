import { execFileSync } from "node:child_process";
import { mkdtempSync, readFileSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";

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

/** The types whose variants are listed, and the file that defines each. */
const TYPES: Readonly<Record<string, string>> = {
  UserInput: "ClientRequest",
  TurnStatus: "ServerNotification",
  CodexErrorInfo: "ServerNotification",
  CommandExecutionStatus: "ServerNotification",
  PatchApplyStatus: "ServerNotification",
  PatchChangeKind: "ServerNotification",
  McpToolCallStatus: "ServerNotification",
  CollabAgentToolCallStatus: "ServerNotification",
  CommandExecutionApprovalKind: "CommandExecutionRequestApprovalParams",
  CommandExecutionApprovalDecision: "CommandExecutionRequestApprovalResponse",
  FileChangeApprovalDecision: "FileChangeRequestApprovalResponse",
};

/** Reads the names from the schema that a program generates. */
export function readProtocolNames(program: string): ProtocolNames {
  const directory = mkdtempSync(join(tmpdir(), "devtool-codex-schema-"));
  try {
    execFileSync(program, ["app-server", "generate-json-schema", "--experimental", "--out", directory]);
    const schemaOf = (name: string): Schema => JSON.parse(readFileSync(join(directory, `${name}.json`), "utf8"));
    const methodsOf = (name: string): string[] => constantsIn(schemaOf(name), "method");
    const definitionOf = (name: string, file: string): Schema => schemaOf(file).definitions?.[name] ?? {};
    const variants = Object.entries(TYPES).map(([name, file]) => [name, variantsIn(definitionOf(name, file))]);
    const modes = constantsIn(schemaOf("McpServerElicitationRequestParams"), "mode");
    return {
      version: /\d+\.\d+\.\d+/.exec(execFileSync(program, ["--version"], { encoding: "utf8" }))?.[0] ?? "",
      methods: methodsOf("ClientRequest"),
      clientNotifications: methodsOf("ClientNotification"),
      requests: methodsOf("ServerRequest"),
      notifications: methodsOf("ServerNotification"),
      items: constantsIn(definitionOf("ThreadItem", "ServerNotification"), "type"),
      variants: { ...Object.fromEntries(variants), ElicitationMode: modes },
    };
  } finally {
    rmSync(directory, { recursive: true });
  }
}

/** Returns the constants of a field in the variants of a schema, in order. */
function constantsIn(schema: Schema, field: string): string[] {
  return alternatives(schema).flatMap((variant) => {
    const [constant] = variant.properties?.[field]?.enum ?? [];
    return constant === undefined ? constantsIn(variant, field) : [constant];
  });
}

/** Returns the variants of a type: its constants, the constants of its field `type`, or the names of its only field. */
function variantsIn(schema: Schema): string[] {
  if (schema.enum) return [...schema.enum];
  const [type] = schema.properties?.type?.enum ?? [];
  if (type !== undefined) return [type];
  const fields = Object.keys(schema.properties ?? {});
  return fields.length === 1 ? fields : alternatives(schema).flatMap(variantsIn);
}

function alternatives({ oneOf = [], anyOf = [], allOf = [] }: Schema): Schema[] {
  return [...oneOf, ...anyOf, ...allOf];
}
