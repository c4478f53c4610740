import { isDeepStrictEqual } from "node:util";
import {
  OPTION_PROCEED_ALWAYS,
  OPTION_PROCEED_ALWAYS_AND_SAVE,
  OPTION_PROCEED_ALWAYS_SERVER,
  OPTION_PROCEED_ALWAYS_TOOL,
  type Part,
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
 * Finds the answer of the task's user that lets a call run; undefined when there is none. Answers are read off the
 * task's own log, so that they outlive a restart and end with the task. What a rule of a file asks about is covered only by an answer
 * to a question of that rule; `askingRule` is the label of what asks.
 */
export function findGrant(task: Task, subject: PolicySubject, askingRule: string): string | undefined {
  const answers = grantsOf(task);
  if (answers.length === 0) return undefined;
  const calls = callsOf(task);
  const grant = answers.find(({ toolCallId, selectedOptionId }) => {
    const granted = calls.findLast(({ call }) => call.toolCallId === toolCallId);
    if (granted === undefined || (isOfFile(askingRule) && granted.rule !== askingRule)) return false;
    return COVERS.get(selectedOptionId)?.(granted, subject, calls) === true;
  });
  return grant && `answer:${grant.toolCallId}`;
}

function isOfFile(label: string): boolean {
  return label !== "" && !label.startsWith("builtin:");
}

/**
 * Adds to the label of a decision which definition of an MCP tool it was about, and where its server is. The label is kept with the
 * call in the log, so that an answer can be bound to the very server and definition that the user was asked about.
 */
export function withDefinition(
  label: string,
  { mcpServer, definitionHash = "", mcpServerHash = "" }: ToolFacts,
): string {
  if (mcpServer === undefined) return label;
  return `${label} mcp:${encodeURIComponent(mcpServer)}:${definitionHash}:${mcpServerHash}`.trimStart();
}

interface GrantedCall {
  readonly call: ToolCall;
  /** The label of the rule that decided that it asks; empty when none did. */
  readonly rule: string;
  /** Whether it was shown as one that nothing confines. */
  readonly withoutSandbox: boolean;
  /** The server and definition that the call was decided for; undefined for our own tools. */
  readonly mcpServer: string | undefined;
  /** Undefined also for calls that earlier versions logged. */
  readonly mcpServerHash: string | undefined;
  readonly definitionHash: string | undefined;
}

type Covers = (granted: GrantedCall, subject: PolicySubject, calls: readonly GrantedCall[]) => boolean;

const COVERS: ReadonlyMap<string, Covers> = new Map<string, Covers>([
  [OPTION_PROCEED_ALWAYS, coversSame],
  [OPTION_PROCEED_ALWAYS_AND_SAVE, coversSame],
  [OPTION_PROCEED_ALWAYS_TOOL, coversTool],
  [OPTION_PROCEED_ALWAYS_SERVER, coversServer],
]);

/** The same command, without a sandbox only when it was shown so; any edit by the same tool; the same MCP tool. */
function coversSame(granted: GrantedCall, subject: PolicySubject): boolean {
  if (granted.call.toolName !== subject.call.toolName) return false;
  switch (subject.details?.case) {
    case "executeDetails":
      if (subject.confinement === "none" && !granted.withoutSandbox) return false;
      return isDeepStrictEqual(commandOf(granted.call), commandOf(subject.call));
    case "fileEditDetails":
      return coversEdit(granted, subject);
    default:
      return coversTool(granted, subject);
  }
}

/** A guarded file is covered only by an answer about that very file. */
function coversEdit({ call }: GrantedCall, { paths, workspace }: PolicySubject): boolean {
  if (!paths.some(isGuardedPath)) return true;
  const path = call.inputParameters?.file_path;
  return typeof path === "string" && paths.every((other) => other === pathInWorkspace(path, workspace));
}

/** Any call of the same tool, of the same definition, that changes no guarded file; never the shell. */
function coversTool(granted: GrantedCall, { call, facts, details, changes }: PolicySubject): boolean {
  if (details?.case === "executeDetails" || details?.case === "fileEditDetails") return false;
  if (changes.some(isGuardedPath)) return false;
  return (
    granted.call.toolName === call.toolName &&
    isSameServer(granted, facts) &&
    granted.definitionHash === facts.definitionHash
  );
}

/** The name alone does not say which server it is: a client can bring another one under the same name. */
function isSameServer(granted: GrantedCall, { mcpServer, mcpServerHash }: ToolFacts): boolean {
  return granted.mcpServer === mcpServer && granted.mcpServerHash === mcpServerHash;
}

/** Any tool of the same server, unless its definition is another one than when the task used it last. */
function coversServer(granted: GrantedCall, { call, facts }: PolicySubject, calls: readonly GrantedCall[]): boolean {
  if (facts.mcpServer === undefined || !isSameServer(granted, facts)) return false;
  const used = calls.findLast((other) => other.call.toolName === call.toolName && WAS_USED.has(other.call.status));
  return used === undefined || used.definitionHash === facts.definitionHash;
}

const WAS_USED: ReadonlySet<ToolCallStatus> = new Set([
  ToolCallStatus.EXECUTING,
  ToolCallStatus.SUCCEEDED,
  ToolCallStatus.FAILED,
]);

/** What a shell command does: all its arguments but the words that describe it. */
function commandOf(call: ToolCall): object {
  const { description: _words, ...rest } = call.inputParameters ?? {};
  return rest;
}

/** The answers that may let other calls run. */
function grantsOf(task: Task): ToolCallConfirmation[] {
  const found: ToolCallConfirmation[] = [];
  // Loops, since every answer of a long task is looked at for each call.
  for (const { role, parts } of task.history) {
    if (role !== Role.USER) continue;
    for (const { content } of parts) {
      if (content.case === "confirmation" && COVERS.has(content.value.selectedOptionId)) found.push(content.value);
    }
  }
  return found;
}

function callsOf(task: Task): GrantedCall[] {
  return task.history.flatMap(({ parts }) => parts).flatMap((part) => grantedCall(part) ?? []);
}

function grantedCall({ content, toolCallDetail }: Part): GrantedCall | undefined {
  if (content.case !== "toolCall") return undefined;
  const { rule = "", withoutSandbox = false } = toolCallDetail ?? {};
  const [mark = "", server, hash, place] = /(?:^| )mcp:([^ :]*):([0-9a-f]*)(?::([0-9a-f]*))?$/.exec(rule) ?? [];
  return {
    call: content.value,
    rule: rule.slice(0, rule.length - mark.length),
    withoutSandbox,
    mcpServer: server === undefined ? undefined : decodeURIComponent(server),
    mcpServerHash: place === "" ? undefined : place,
    definitionHash: hash === "" ? undefined : hash,
  };
}
