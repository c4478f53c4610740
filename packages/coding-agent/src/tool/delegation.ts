import { create, type MessageInitShape } from "@bufbuild/protobuf";
import { ToolCallDetailSchema } from "@devtool/schema";
import type { CallDelegation } from "./tool.ts";

type Fields = NonNullable<
  MessageInitShape<typeof ToolCallDetailSchema>["delegation"]
>;

/** Creates the record of where another agent does the work of a call. */
export function delegationOf(delegation: Fields): CallDelegation {
  const detail = create(ToolCallDetailSchema, { delegation });
  if (!detail.delegation) throw new Error("the detail has lost its field");
  return detail.delegation;
}
