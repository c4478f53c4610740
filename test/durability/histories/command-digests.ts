import { fromJsonString, toJsonString } from "@bufbuild/protobuf";
import { callDigest } from "@devtool/coding-agent/testing";
import { type TaskEvent, type ToolCall, ToolCallSchema } from "@devtool/schema";

/**
 * A command that was put to the user: the digest that its approval was bound
 * to, and the one that this version gives it.
 */
export interface CommandDigest {
  readonly kept: string;
  readonly computed: string;
}

/**
 * Lists the digests of the commands that a log puts to the user. A command is
 * shown with the directory it runs in, so its digest is another one in another
 * workspace; `move` puts what is shown there before the digest is computed.
 */
export function commandDigests(
  events: readonly TaskEvent[],
  move: (text: string) => string,
): CommandDigest[] {
  return events.flatMap(({ payload, toolCallDetail }) => {
    if (
      payload.case !== "toolCall" ||
      !toolCallDetail ||
      toolCallDetail.parentToolCallId !== ""
    ) {
      return [];
    }
    const call = fromJsonString(
      ToolCallSchema,
      move(toJsonString(ToolCallSchema, payload.value)),
    );
    if (call.confirmationRequest?.details.case !== "executeDetails") return [];
    return [
      { kept: base64(toolCallDetail.digest), computed: base64(digestOf(call)) },
    ];
  });
}

/**
 * The text of a log, with digests as this version computes them in place of
 * those that were kept.
 */
export function withDigests(
  text: string,
  digests: readonly CommandDigest[],
): string {
  return digests.reduce(
    (changed, { kept, computed }) => changed.replaceAll(kept, computed),
    text,
  );
}

function digestOf(call: ToolCall): Uint8Array {
  const confirmation = call.confirmationRequest?.details;
  const shown = {
    args: call.inputParameters ?? {},
    description: call.description ?? "",
  };
  return callDigest(call, {
    ...shown,
    ...(confirmation && { confirmation }),
    execute: nothing,
  });
}

async function* nothing(): AsyncIterable<never> {}

function base64(bytes: Uint8Array): string {
  return Buffer.from(bytes).toString("base64");
}
