import { isDeepStrictEqual } from "node:util";
import {
  confirmationsOf,
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
import type { ToolFacts } from "../tool.ts";
import { isGuardedPath } from "./guarded-paths.ts";
import { type PolicySubject, pathInWorkspace } from "./policy-subject.ts";

/**
 * Finds the answer of the task's user that lets a call run; undefined when there is none. Answers are read off the
 * task's own log, so that they outlive a restart and end with the task.
 */
export function findGrant(task: Task, subject: PolicySubject): string | undefined {
  const calls = callsOf(task);
  const grant = answersOf(task).find(({ toolCallId, selectedOptionId }) => {
    const granted = calls.findLast(({ call }) => call.toolCallId === toolCallId);
    return granted !== undefined && COVERS.get(selectedOptionId)?.(granted, subject, calls) === true;
  });
  return grant && `answer:${grant.toolCallId}`;
}

/**
 * Adds to the label of a decision which definition of an MCP tool it was about. The label is kept with the call in the
 * log, so that an answer can be bound to the very definition that the user was asked about.
 */
export function withDefinition(label: string, { mcpServer, definitionHash = "" }: ToolFacts): string {
  if (mcpServer === undefined) return label;
  return `${label} mcp:${encodeURIComponent(mcpServer)}:${definitionHash}`.trimStart();
}

interface GrantedCall {
  readonly call: ToolCall;
  /** The server and definition that the call was decided for; undefined for our own tools. */
  readonly mcpServer: string | undefined;
  readonly definitionHash: string | undefined;
}

type Covers = (granted: GrantedCall, subject: PolicySubject, calls: readonly GrantedCall[]) => boolean;

const COVERS: ReadonlyMap<string, Covers> = new Map<string, Covers>([
  [OPTION_PROCEED_ALWAYS, coversSame],
  [OPTION_PROCEED_ALWAYS_AND_SAVE, coversSame],
  [OPTION_PROCEED_ALWAYS_TOOL, coversTool],
  [OPTION_PROCEED_ALWAYS_SERVER, coversServer],
]);

/** The same command, any edit by the same tool, the same MCP tool. */
function coversSame(granted: GrantedCall, subject: PolicySubject): boolean {
  if (granted.call.toolName !== subject.call.toolName) return false;
  switch (subject.details?.case) {
    case "executeDetails":
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

/** Any call of the same tool, of the same definition; never the shell. */
function coversTool(granted: GrantedCall, { call, facts, details }: PolicySubject): boolean {
  if (details?.case === "executeDetails" || details?.case === "fileEditDetails") return false;
  return (
    granted.call.toolName === call.toolName &&
    granted.mcpServer === facts.mcpServer &&
    granted.definitionHash === facts.definitionHash
  );
}

/** Any tool of the same server, unless its definition is another one than when the task used it last. */
function coversServer(granted: GrantedCall, { call, facts }: PolicySubject, calls: readonly GrantedCall[]): boolean {
  if (facts.mcpServer === undefined || granted.mcpServer !== facts.mcpServer) return false;
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

function answersOf(task: Task): ToolCallConfirmation[] {
  return task.history.flatMap((message) => (message.role === Role.USER ? confirmationsOf(message) : []));
}

function callsOf(task: Task): GrantedCall[] {
  return task.history.flatMap(({ parts }) => parts).flatMap((part) => grantedCall(part) ?? []);
}

function grantedCall({ content, toolCallDetail }: Part): GrantedCall | undefined {
  if (content.case !== "toolCall") return undefined;
  const [, server, hash] = /(?:^| )mcp:([^ :]*):([0-9a-f]*)$/.exec(toolCallDetail?.rule ?? "") ?? [];
  return {
    call: content.value,
    mcpServer: server === undefined ? undefined : decodeURIComponent(server),
    definitionHash: hash === "" ? undefined : hash,
  };
}
