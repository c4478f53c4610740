import { create, type MessageInitShape } from "@bufbuild/protobuf";
import { type Message, MessageSchema, type Role } from "@devtool/schema";
import type { ModelRequest } from "../../agent/model.ts";

/** The parts of a message, in their init shape. */
export type Parts = NonNullable<
  MessageInitShape<typeof MessageSchema>["parts"]
>;

/** Returns a request for an answer, with two tools. */
export function requestOf(history: readonly Message[]): ModelRequest {
  const tools = ["read_file", "run_shell_command"].map((name) => ({
    name,
    description: name,
    parameters: { type: "object", properties: {} },
  }));
  return {
    history,
    tools,
    workspacePath: "/w",
    instructions: async () => "Be brief.",
    model: "",
  };
}

/** Returns a message of the history. */
export function message(role: Role, parts: Parts): Message {
  return create(MessageSchema, { role, parts });
}

/** Returns a part with a text. */
export function text(value: string): Parts[number] {
  return { content: { case: "text", value } };
}
