import { isDeepStrictEqual } from "node:util";
import {
  OPTION_PROCEED_ALWAYS,
  OPTION_PROCEED_ALWAYS_AND_SAVE,
  OPTION_PROCEED_ALWAYS_SERVER,
  OPTION_PROCEED_ALWAYS_TOOL,
  Role,
  type Task,
  type ToolCall,
  type ToolCallConfirmation,
  ToolCallStatus,
} from "@devtool/schema";
import { isGuardedPath } from "./guarded-paths.ts";
import type { ToolFacts } from "./policy-engine.ts";
import { type PolicySubject, pathInWorkspace } from "./policy-subject.ts";

/**
 * Returns the label of the answer that lets a call run, as `answer:<call id>`;
 * undefined when no answer does.
 *
 * Answers are read from the log of the task, so they survive a restart and end
 * with the task. `askingRule` is the label of the rule that asks: when it is a
 * rule of a file, only an answer to a question of that same rule counts.
 */
export function findGrant(
  task: Task,
  subject: PolicySubject,
  askingRule: string,
): string | undefined {
  const answers: ToolCallConfirmation[] = [];
  // Plain loops, because the whole history of a long task is searched for every
  // call.
  for (const { role, parts } of task.history) {
    if (role !== Role.USER) continue;
    for (const { content } of parts) {
      if (
        content.case === "confirmation" &&
        COVERS.has(content.value.selectedOptionId)
      ) {
        answers.push(content.value);
      }
    }
  }
  if (answers.length === 0) return undefined;
  const calls = readCalls(task);
  const isOfFile = askingRule !== "" && !askingRule.startsWith("builtin:");
  const grant = answers.find(({ toolCallId, selectedOptionId }) => {
    const granted = calls.findLast(
      ({ call }) => call.toolCallId === toolCallId,
    );
    if (granted === undefined || (isOfFile && granted.rule !== askingRule)) {
      return false;
    }
    return COVERS.get(selectedOptionId)?.(granted, subject, calls) === true;
  });
  return grant && `answer:${grant.toolCallId}`;
}

/**
 * Appends the MCP server of a call, and the hashes of the tool's definition and
 * of where the server is, to a rule's label.
 *
 * The label is stored with the call in the log. It binds the user's answer to
 * the server and the definition that the question was about.
 */
export function withDefinition(label: string, facts: ToolFacts): string {
  const { mcpServer, definitionHash = "", mcpServerHash = "" } = facts;
  if (mcpServer === undefined) return label;
  return `${label} mcp:${encodeURIComponent(mcpServer)}:${definitionHash}:${mcpServerHash}`.trimStart();
}

/** A call of the task, as it was shown to the user. */
interface GrantedCall {
  readonly call: ToolCall;
  /**
   * The label of the rule because of which the call asked; empty when there was
   * none.
   */
  readonly rule: string;
  /** Whether the question said that the call runs without a sandbox. */
  readonly withoutSandbox: boolean;
  /**
   * The MCP server that the question was about; undefined for the agent's own
   * tools.
   */
  readonly mcpServer: string | undefined;
  /**
   * Undefined for the agent's own tools, and for calls that earlier versions
   * logged.
   */
  readonly mcpServerHash: string | undefined;
  readonly definitionHash: string | undefined;
}

/**
 * Returns whether the answer to one call covers another; `calls` are all calls
 * of the task.
 */
type Covers = (
  granted: GrantedCall,
  subject: PolicySubject,
  calls: readonly GrantedCall[],
) => boolean;

/**
 * The answers that cover more than their own call, by the id of the selected
 * option.
 */
const COVERS: ReadonlyMap<string, Covers> = new Map<string, Covers>([
  [OPTION_PROCEED_ALWAYS, coversSame],
  [OPTION_PROCEED_ALWAYS_AND_SAVE, coversSame],
  [OPTION_PROCEED_ALWAYS_TOOL, coversTool],
  [OPTION_PROCEED_ALWAYS_SERVER, coversServer],
]);

/**
 * Covers the same command, every edit by the same tool, or the same MCP tool.
 *
 * A command that was shown with a sandbox is not covered without one. A guarded
 * file is covered only by an answer about that very file.
 */
function coversSame(granted: GrantedCall, subject: PolicySubject): boolean {
  const { call, paths, workspace } = subject;
  if (granted.call.toolName !== call.toolName) return false;
  switch (subject.details?.case) {
    case "executeDetails":
      if (subject.confinement === "none" && !granted.withoutSandbox) {
        return false;
      }
      return isDeepStrictEqual(
        commandArguments(granted.call),
        commandArguments(call),
      );
    case "fileEditDetails": {
      if (!paths.some(isGuardedPath)) return true;
      const path = granted.call.inputParameters?.file_path;
      return (
        typeof path === "string" &&
        paths.every((other) => other === pathInWorkspace(path, workspace))
      );
    }
    default:
      return coversTool(granted, subject);
  }
}

/**
 * Covers calls of the same tool and definition, with any arguments; never the
 * shell, and never a change of a guarded file.
 */
function coversTool(
  granted: GrantedCall,
  { call, facts, details, changes }: PolicySubject,
): boolean {
  if (
    details?.case === "executeDetails" ||
    details?.case === "fileEditDetails"
  ) {
    return false;
  }
  if (changes.some(isGuardedPath)) return false;
  return (
    granted.call.toolName === call.toolName &&
    isSameServer(granted, facts) &&
    granted.definitionHash === facts.definitionHash
  );
}

/**
 * Covers all tools of the same server, except one whose definition has changed
 * since the task last used it.
 */
function coversServer(
  granted: GrantedCall,
  { call, facts }: PolicySubject,
  calls: readonly GrantedCall[],
): boolean {
  if (facts.mcpServer === undefined || !isSameServer(granted, facts)) {
    return false;
  }
  const used = calls.findLast(
    (other) =>
      other.call.toolName === call.toolName && USED.has(other.call.status),
  );
  return used === undefined || used.definitionHash === facts.definitionHash;
}

/** The statuses of calls that ran, or still run. */
const USED: ReadonlySet<ToolCallStatus> = new Set([
  ToolCallStatus.EXECUTING,
  ToolCallStatus.SUCCEEDED,
  ToolCallStatus.FAILED,
]);

/**
 * Compares name and place, because a client can bring another server under the
 * same name.
 */
function isSameServer(
  granted: GrantedCall,
  { mcpServer, mcpServerHash }: ToolFacts,
): boolean {
  return (
    granted.mcpServer === mcpServer && granted.mcpServerHash === mcpServerHash
  );
}

/**
 * Returns the arguments of a shell command without its description, which does
 * not change what the command does.
 */
function commandArguments({ inputParameters = {} }: ToolCall): object {
  const { description: _description, ...rest } = inputParameters;
  return rest;
}

/**
 * Returns the calls of a task, with what `withDefinition` stored in the labels
 * of their rules.
 */
function readCalls(task: Task): GrantedCall[] {
  const parts = task.history.flatMap((message) => message.parts);
  return parts.flatMap(({ content, toolCallDetail }) => {
    if (content.case !== "toolCall") return [];
    const { rule = "", withoutSandbox = false } = toolCallDetail ?? {};
    const [suffix = "", server, definitionHash, serverHash] =
      /(?:^| )mcp:([^ :]*):([0-9a-f]*)(?::([0-9a-f]*))?$/.exec(rule) ?? [];
    return [
      {
        call: content.value,
        rule: rule.slice(0, rule.length - suffix.length),
        withoutSandbox,
        mcpServer:
          server === undefined ? undefined : decodeURIComponent(server),
        mcpServerHash: serverHash || undefined,
        definitionHash: definitionHash || undefined,
      },
    ];
  });
}
