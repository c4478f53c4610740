import type { JsonObject, JsonValue } from "@bufbuild/protobuf";
import { defined, isObject, listOrEmpty } from "@devtool/internal/json";
import { oneLine } from "@devtool/internal/visible-text";
import {
  findToolCallDetail,
  openToolCalls,
  type ToolCall,
} from "@devtool/schema";
import {
  type ArgumentsEdit,
  Code,
  changedDetail,
  DevtoolError,
  invalid,
} from "@devtool/server/agent";
import { findUnkeptValue } from "./kept-values.ts";
import { NO_EDITS, withPending } from "./pending-edits.ts";
import {
  askForApproval,
  callError,
  findTool,
  hasSameEffect,
  type PrepareContext,
  type PreparedCall,
  policyRequest,
  prepareVersions,
} from "./prepared-call.ts";
import type { PendingEdits } from "./tool.ts";

/**
 * Why a call asks although the policy would let it run: nobody has been shown
 * its new arguments.
 */
const EDITED = "its arguments were changed: approve what runs";

/**
 * Checks arguments that a user wrote in place of those of a call: by its tool,
 * as the arguments of a model, and by the policy.
 *
 * Throws a `DevtoolError` that names the argument or the rule, for arguments
 * that cannot be used.
 */
export async function checkEditedArguments(
  { call, args }: ArgumentsEdit,
  context: PrepareContext,
  signal: AbortSignal,
): Promise<void> {
  try {
    await prepareEdited(call, args, context, signal);
  } catch (reason) {
    signal.throwIfAborted();
    const { problem, code, remedy, details, cause } = callError(
      reason,
      call,
      context,
    );
    const isArgument =
      code === Code.InvalidArgument &&
      details !== undefined &&
      problem.startsWith(details.field);
    const field = isArgument
      ? `modified_arguments.${details.field}`
      : "modified_arguments";
    const text = isArgument
      ? `modified_arguments.${problem}`
      : `modified_arguments cannot be used: ${problem}`;
    throw new DevtoolError(text, code, {
      remedy,
      cause,
      details: { value: "", ...details, field },
    });
  }
}

/**
 * Returns a call that asks again, with the user's arguments.
 *
 * The arguments were checked before the answer was recorded. If they can no
 * longer be used, the call asks as it did before, and says why.
 */
export async function askWithArguments(
  before: PreparedCall,
  args: JsonObject,
  context: PrepareContext,
  signal: AbortSignal,
): Promise<PreparedCall> {
  const { call } = before;
  try {
    return await prepareEdited(call, args, context, signal);
  } catch (reason) {
    signal.throwIfAborted();
    const proposed =
      before.invocation ??
      (await findTool(call, context).prepare(
        call.inputParameters ?? {},
        signal,
        await pendingBefore(call.toolCallId, context, signal),
      ));
    const { message } = callError(reason, call, context);
    const detail = changedDetail(before.detail, {
      reason: `the changed arguments cannot be used: ${message}`,
    });
    return askForApproval({ ...before, detail }, proposed);
  }
}

/**
 * Returns a call that asks about the user's arguments, even where the policy
 * would let it run. Throws when they cannot be used.
 */
async function prepareEdited(
  { confirmationRequest: _before, ...call }: ToolCall,
  args: JsonObject,
  context: PrepareContext,
  signal: AbortSignal,
): Promise<PreparedCall> {
  const problem = findUnkeptValue(args);
  if (problem !== undefined) {
    throw new DevtoolError(problem, Code.InvalidArgument);
  }
  const tool = findTool(call, context);
  // The schemas of MCP servers say whether they allow other arguments, and MCP
  // tools check that.
  if (tool.facts?.mcpServer === undefined) {
    assertKnownFields(tool.declaration.parameters, args, "");
  }
  const pending = await pendingBefore(call.toolCallId, context, signal);
  const invocation = await tool.prepare(args, signal, pending);
  const edited = {
    ...call,
    inputParameters: args,
    description: oneLine(invocation.description),
  };
  const { decision, rule, reason, saves } = await context.policy.decide(
    policyRequest(edited, invocation, context),
    signal,
  );
  if (decision === "deny") {
    const problem = `tool ${JSON.stringify(call.toolName)} is denied: ${reason}`;
    throw new DevtoolError(problem, Code.PermissionDenied, {
      remedy: "change them again, or decline the call",
    });
  }
  const { edit: _replaced, ...detail } = changedDetail(
    findToolCallDetail(context.task, call.toolCallId),
    {
      rule,
      reason: decision === "ask" ? reason : EDITED,
    },
  );
  const changed = defined({ ...detail, argumentsEditor: detail.answerer });
  return askForApproval(
    { call: edited, detail: changed, invocation, saves },
    invocation,
  );
}

/**
 * Returns the edits that the open calls before a call would make, as the user
 * was shown them. A call that cannot be made any more makes none.
 */
async function pendingBefore(
  toolCallId: string,
  context: PrepareContext,
  signal: AbortSignal,
): Promise<PendingEdits> {
  let pending = NO_EDITS;
  for (const call of openToolCalls(context.task)) {
    if (call.toolCallId === toolCallId) break;
    const detail = findToolCallDetail(context.task, call.toolCallId);
    const published = { call, detail: changedDetail(detail, {}) };
    try {
      const versions = await prepareVersions(call, pending, context, signal);
      const shown = versions.findLast((one) => hasSameEffect(published, one));
      pending = withPending(pending, shown);
    } catch {
      signal.throwIfAborted();
    }
  }
  return pending;
}

/**
 * Keywords of JSON Schema with which an object can have other fields than its
 * `properties`.
 */
const MORE_FIELDS = [
  "patternProperties",
  "allOf",
  "anyOf",
  "oneOf",
  "if",
  "$ref",
] as const;

/**
 * Throws `Code.InvalidArgument` for fields of a user's arguments that a schema
 * does not have: a misspelled name must not be ignored.
 */
function assertKnownFields(
  schema: JsonValue | undefined,
  value: JsonValue | undefined,
  path: string,
): void {
  if (!isObject(schema)) return;
  if (Array.isArray(value)) {
    for (const [index, item] of listOrEmpty(value).entries()) {
      assertKnownFields(schema.items, item, `${path}[${index}]`);
    }
    return;
  }
  const { properties, additionalProperties = false } = schema;
  if (!isObject(value) || !isObject(properties)) return;
  const isOpen =
    additionalProperties !== false ||
    MORE_FIELDS.some((keyword) => keyword in schema);
  for (const [name, item] of Object.entries(value)) {
    const field = path === "" ? name : `${path}.${name}`;
    if (Object.hasOwn(properties, name)) {
      assertKnownFields(properties[name], item, field);
    } else if (!isOpen) {
      throw invalid(
        field,
        "",
        "is unknown",
        `choose ${Object.keys(properties).join(", ")}`,
      );
    }
  }
}
