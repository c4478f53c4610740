import { toolCallsOf } from "@devtool/schema";
import type { Model, ModelToolCall } from "../agent/model.ts";

/** The steps of a command that only says something. */
export function saying(text: () => string): Model {
  return {
    name: "",
    async *generate() {
      yield { case: "text", value: text() };
    },
  };
}

/** The steps of a command that makes one tool call and ends when it is done; its result is the answer. */
export function calling(call: ModelToolCall): Model {
  return {
    name: "",
    async *generate({ history }) {
      const made = history.some((message) => toolCallsOf(message).length > 0);
      if (!made) yield { case: "toolCall", value: call };
    },
  };
}
