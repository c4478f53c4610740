import { type Message, Role, type Task } from "@devtool/schema";
import type { Operation, OperationFacts } from "../observer.ts";
import type { AttributeName, SpanAttributes } from "./conventions.ts";
import type { SecretFilter } from "./secret-filter.ts";

/** The maximum length of an attribute with content, in characters. */
const MAX_LENGTH = 16_384;

/**
 * Returns the content of an operation as attributes, without known secrets:
 * what its user and its agent said in a turn, and the arguments and the result
 * of a call.
 */
export function contentOf(
  { kind }: Pick<Operation, "kind">,
  facts: OperationFacts,
  filter: SecretFilter,
  moment: "begin" | "end",
): SpanAttributes {
  const attributes: SpanAttributes = {};
  const add = (name: AttributeName, value: unknown): void => {
    if (value === undefined) return;
    attributes[name] = filter.json(value, MAX_LENGTH);
  };
  if (kind === "call") {
    add("gen_ai.tool.call.arguments", facts.args);
    add("gen_ai.tool.call.result", facts.result);
  }
  if (kind === "turn" && facts.task) {
    const [name, role] =
      moment === "begin"
        ? (["gen_ai.input.messages", Role.USER] as const)
        : (["gen_ai.output.messages", Role.AGENT] as const);
    const said = lastSaid(facts.task, role);
    const ended = { finish_reason: facts.finishReason };
    // JSON leaves out what is undefined.
    add(name, said && [{ ...said, ...ended }]);
  }
  return attributes;
}

/**
 * Returns the last message of a role in the form of `gen_ai.input.messages`;
 * undefined when there is none with text.
 */
function lastSaid({ history }: Task, role: Role): object | undefined {
  const message = history.findLast(
    (each) => each.role === role && textsOf(each).length > 0,
  );
  if (!message) return undefined;
  const parts = textsOf(message).map((content) => ({ type: "text", content }));
  return { role: role === Role.USER ? "user" : "assistant", parts };
}

function textsOf({ parts }: Message): string[] {
  return parts.flatMap(({ content }) =>
    content.case === "text" ? [content.value] : [],
  );
}
