import { create } from "@bufbuild/protobuf";
import type { ToolCall } from "../gen/devtool/a2a/v1alpha/tool_call_pb.ts";
import { type ApprovalPayload, ApprovalPayloadSchema } from "../gen/devtool/ag_ui/v1alpha/run_pb.ts";
import { type Part, PartSchema } from "../gen/devtool/v1alpha/task_pb.ts";
import { decodeStrictJson } from "../strict-json.ts";
import { OPTION_CANCEL, OPTION_MODIFY_ARGUMENTS, OPTION_PROCEED_ONCE } from "../tool-call.ts";
import { quote, WireError } from "../wire-error.ts";

/** Creates the part of a message that declines a call. `shownDigest` names the question that was shown. */
export function declinePart(toolCallId: string, shownDigest: Uint8Array): Part {
  const value = { toolCallId, selectedOptionId: OPTION_CANCEL };
  return create(PartSchema, { shownDigest, content: { case: "confirmation", value } });
}

/**
 * Creates the part of a message that answers a call as a payload says. `shownDigest` names the question that was shown.
 *
 * Throws a `WireError` that names the field below `path` for a payload that is malformed or contradicts itself. Whether
 * the call offers the option is left to the server.
 */
export function approvalPart({ toolCallId }: ToolCall, shownDigest: Uint8Array, payload: unknown, path: string): Part {
  const approval = decodeStrictJson(ApprovalPayloadSchema, payload, path);
  const { editedArgs: modifiedArguments, newContent } = approval;
  const selectedOptionId = optionOf(approval, path);
  if (selectedOptionId === OPTION_CANCEL && newContent !== undefined) {
    throw new WireError(`${path}.newContent`, "", "does not go with a call that is declined: leave it out");
  }
  const modifiedDetails =
    newContent === undefined ? undefined : ({ case: "fileDetails", value: { newContent } } as const);
  const value = { toolCallId, selectedOptionId, ...(modifiedDetails && { modifiedDetails }) };
  return create(PartSchema, {
    shownDigest,
    content: { case: "confirmation", value },
    ...(modifiedArguments && { modifiedArguments }),
  });
}

function optionOf({ approved, option, editedArgs }: ApprovalPayload, path: string): string {
  if (approved === undefined) throw new WireError(`${path}.approved`, "", "is missing: send true or false");
  if (editedArgs) {
    if (approved && (option === "" || option === OPTION_MODIFY_ARGUMENTS)) return OPTION_MODIFY_ARGUMENTS;
    const problem = "go with approved: true and no option, since the call asks again with them";
    throw new WireError(`${path}.editedArgs`, "", problem);
  }
  if (option === "") return approved ? OPTION_PROCEED_ONCE : OPTION_CANCEL;
  const allows = /^(proceed|modify)/.test(option);
  const declines = option === OPTION_CANCEL || option.startsWith("reject");
  if (approved ? declines : allows) {
    const problem = `contradicts approved: ${approved}, so nothing is decided: send them so that they agree`;
    throw new WireError(`${path}.option`, quote(option), problem);
  }
  return option;
}
