import { resolve } from "node:path";
import { create, type JsonObject, toJsonString } from "@bufbuild/protobuf";
import { isObject, parseJsonOrUndefined } from "@devtool/internal/json";
import { callRequest, readRules, SavedApprovals } from "@devtool/policy";
import {
  ApprovalFile,
  explainDecision,
  type PlainCall,
} from "@devtool/policy/operator";
import { findSandbox } from "@devtool/sandbox";
import { ApprovalMode, type McpServer, RuleDecision } from "@devtool/schema";
import { PolicyExplanationSchema, SandboxKind } from "@devtool/schema/operator";
import { agentSpecs } from "../agents/agent-modules.ts";
import {
  type OperatorConfig,
  operatorConfig,
  SANDBOXES,
} from "../agents/agent-options.ts";
import { cleanPath } from "../agents/agent-programs.ts";
import { approvalModeName, approvalModeOf } from "../approval-mode.ts";
import { defaultDataDirectory } from "../connection/discovery.ts";
import { UsageError } from "../errors.ts";
import { ExitCode } from "../exit-code.ts";
import { type Io, interruptSignal, writeLine } from "../io.ts";
import { indented, visibleName } from "../render/style.ts";
import { storeOptions } from "../store-options.ts";

/** The options of `devtool policy explain`. */
interface PolicyExplainOptions {
  readonly tool: string;
  /** The arguments of the call, as JSON. */
  readonly arguments: string;
  readonly principal?: string;
  readonly role?: readonly string[];
  readonly agent?: string;
  readonly workspace?: string;
  readonly approvalMode?: string;
  readonly data?: string;
  readonly config?: string;
  readonly store?: string;
  readonly json?: true;
}

/** The principal of who holds the operator's token. */
const OPERATOR = "local";
const CODING_AGENT = "devtool";

type Explanation = Awaited<ReturnType<typeof explainDecision>>;
type Note = Explanation["rules"][number];

/** How the call is decided, beside the rules. */
interface Surroundings {
  readonly mode: ApprovalMode;
  readonly sandboxed: boolean;
}

/**
 * `devtool policy explain`: says what the policy decides about a call of a
 * caller, and which rules are about it.
 */
export async function policyExplain(
  options: PolicyExplainOptions,
  io: Io,
): Promise<number> {
  using interrupt = interruptSignal(io);
  const data = resolve(options.data ?? defaultDataDirectory(io.env));
  const operator = await operatorConfig(options.config, data);
  const { config, directory } = operator;
  const { principal = OPERATOR, role = [], agent = CODING_AGENT } = options;
  const mode =
    approvalModeOf(options.approvalMode) ||
    config.approvalMode ||
    ApprovalMode.DEFAULT;
  const sandboxed = await isSandboxed(
    agent,
    operator,
    io.env,
    interrupt.signal,
  );
  const { rules } = await readRules(
    data,
    config.policyFiles.map((path) => resolve(directory, path)),
  );
  const place = {
    mode,
    workspace: resolve(options.workspace ?? "."),
    shellConfinement: sandboxed ? "sandbox" : "none",
    rules,
    caller: { principal, roles: role, agent },
  } as const;
  const server = serverOf(options.tool, config.mcpServers);
  const request = requestOf(options, server?.name);
  const storing = storeOptions(options.store, operator);
  await using store =
    principal === OPERATOR
      ? await storing.openStore?.({ dataDirectory: data })
      : undefined;
  // Only the operator has saved approvals.
  const saved =
    principal === OPERATOR
      ? new SavedApprovals(
          store?.shared?.approvals ?? new ApprovalFile(data),
          (text) => writeLine(io.stderr, `devtool: ${indented(text)}`),
        )
      : undefined;
  const decided = await explainDecision(
    request,
    { ...place, saved },
    interrupt.signal,
  );
  const explanation =
    server && !isForCaller(server, principal, role)
      ? { ...decided, ...notFor(server) }
      : decided;
  writeLine(
    io.stdout,
    options.json
      ? jsonOf(explanation, { mode, sandboxed })
      : textOf(explanation, options, { mode, sandboxed }),
  );
  return ExitCode.OK;
}

/**
 * Returns the server of a tool by its name for models, in which a character that
 * they do not accept is `_`; undefined for a tool of no such server.
 */
function serverOf(
  tool: string,
  servers: readonly McpServer[],
): McpServer | undefined {
  const prefixOf = ({ name }: McpServer): string =>
    `mcp__${name.replaceAll(/[^A-Za-z0-9_-]/gu, "_")}__`;
  return servers
    .filter((each) => tool.startsWith(prefixOf(each)))
    .toSorted((one, other) => prefixOf(other).length - prefixOf(one).length)[0];
}

/**
 * Returns whether commands of an agent run in a sandbox, as they would on a
 * server that is started here. Only our own agent has one.
 */
async function isSandboxed(
  agent: string,
  operator: OperatorConfig,
  env: Io["env"],
  signal: AbortSignal,
): Promise<boolean> {
  const spec = agentSpecs([], operator).find(({ name }) => name === agent);
  const isOwn = (spec?.source.case ?? "codingAgent") === "codingAgent";
  if (!isOwn || operator.config.sandbox === SandboxKind.NONE) return false;
  const { confines } = await findSandbox(
    SANDBOXES[operator.config.sandbox],
    { path: cleanPath({ env, workspaces: [process.cwd()] }), hidden: [] },
    signal,
  );
  return confines;
}

/** Creates the request for a call as our own tools make it. */
function requestOf(
  { tool, arguments: text }: PolicyExplainOptions,
  mcpServer: string | undefined,
) {
  const args: unknown = parseJsonOrUndefined(text);
  if (!isObject(args)) {
    throw new UsageError(
      `--arguments ${JSON.stringify(text)} is not a JSON object: write it as '{"command":"git push"}'`,
    );
  }
  const request = callRequest(plainCall(tool, args, mcpServer));
  return {
    ...request,
    call: { ...request.call, toolName: tool, inputParameters: args },
  };
}

/** Whether the operator gives a server to a caller. */
function isForCaller(
  { principals, roles }: McpServer,
  principal: string,
  own: readonly string[],
): boolean {
  return (
    principals.length + roles.length === 0 ||
    principals.includes(principal) ||
    roles.some((role) => own.includes(role))
  );
}

/** What is decided about a tool that the caller's agent does not have. */
function notFor({ name }: McpServer) {
  const reason = `the caller does not have MCP server ${JSON.stringify(name)} (mcp_servers.roles and principals)`;
  return { decision: "deny", rule: "", reason } as const;
}

function plainCall(
  tool: string,
  args: JsonObject,
  mcpServer: string | undefined,
): PlainCall {
  const argument = (name: string): string => {
    const { [name]: value } = args;
    if (typeof value === "string") return value;
    throw new UsageError(
      `--arguments have no text ${JSON.stringify(name)}, which ${tool} needs`,
    );
  };
  switch (tool) {
    case "run_shell_command": {
      const { directory } = args;
      const command = argument("command");
      return typeof directory === "string"
        ? { case: "command", command, directory, tool }
        : { case: "command", command, tool };
    }
    case "write_file":
    case "replace":
    case "multi_edit":
      return { case: "edit", path: argument("file_path"), tool };
    case "save_memory":
      return { case: "edit", path: "AGENTS.md", tool };
    default:
      if (READING.has(tool)) return { case: "read", path: ".", tool };
      return mcpServer === undefined
        ? { case: "other", tool, args }
        : { case: "other", tool, args, facts: { mcpServer } };
  }
}

/** Our tools that change nothing. */
const READING: ReadonlySet<string> = new Set([
  "read_file",
  "read_many_files",
  "list_directory",
  "glob",
  "search_file_content",
  "read_background_output",
  "stop_background_process",
  "update_plan",
  "ide_diagnostics",
  "ide_open_file",
]);

const DECISIONS = {
  allow: RuleDecision.ALLOW,
  ask: RuleDecision.ASK,
  deny: RuleDecision.DENY,
} as const;

function jsonOf(
  { decision, rule, reason, saves = "", rules, saved }: Explanation,
  { mode, sandboxed }: Surroundings,
): string {
  const explained = ({ compiled, description, reason: why }: Note) => ({
    file: compiled.origin.file,
    line: compiled.origin.line ?? 0,
    label: compiled.label,
    decision: DECISIONS[compiled.decision],
    description,
    decides: why === "",
    reason: why,
  });
  const message = create(PolicyExplanationSchema, {
    decision: DECISIONS[decision],
    rule,
    reason,
    rules: rules.map(explained),
    savedApprovals: saved.map(explained),
    saves,
    approvalMode: mode,
    sandboxed,
  });
  return toJsonString(PolicyExplanationSchema, message);
}

function textOf(
  { decision, rule, reason, saves, rules, saved }: Explanation,
  { tool, principal = OPERATOR, role = [], agent }: PolicyExplainOptions,
  { mode, sandboxed }: Surroundings,
): string {
  const roles = role.length > 0 ? ` (role ${role.join(", ")})` : "";
  const of = agent === undefined ? "" : ` of agent ${agent}`;
  const lines = [
    `${decision}: ${tool}${of} for ${principal}${roles}`,
    `  ${rule === "" ? "no rule decides" : `decided by ${rule}`}${reason === "" ? "" : `: ${reason}`}`,
    `  approval mode ${approvalModeName(mode)}, ${sandboxed ? "commands run in a sandbox" : "no sandbox"}`,
    ...(saves ? [`  an approval for good would cover: ${saves}`] : []),
    ...listOf("rules about it", rules),
    ...listOf("saved approvals of it", saved),
  ];
  return lines.map(visibleName).join("\n");
}

function listOf(title: string, notes: readonly Note[]): string[] {
  if (notes.length === 0) return [`${title}: none`];
  return [
    `${title}:`,
    ...notes.map(({ compiled, description, reason }) => {
      const { file, line, number } = compiled.origin;
      const place = line === undefined ? `rule ${number}` : `line ${line}`;
      const name = compiled.rule.name && ` "${compiled.rule.name}"`;
      const why = reason === "" ? "decides" : `does not decide: ${reason}`;
      return `  ${file} ${place}${name}  ${compiled.decision} ${description}  ${why}`;
    }),
  ];
}
