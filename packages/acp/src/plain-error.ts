import type { AnyMessage } from "@agentclientprotocol/sdk";
import { isObject, objectOrEmpty } from "@devtool/internal/json";

/**
 * Returns a message as it is, except an error with a validator's tree of
 * problems: that becomes one with the first problem in words, which names the
 * parameter.
 */
export function withPlainError(message: AnyMessage): AnyMessage {
  const { data } = objectOrEmpty(objectOrEmpty(message).error);
  if (!("error" in message) || !isObject(data) || !("_errors" in data)) {
    return message;
  }
  const [problem = "they are not valid"] = problemsIn(data, "");
  const { code } = message.error;
  return { ...message, error: { code, message: `invalid params: ${problem}` } };
}

function problemsIn(tree: unknown, at: string): string[] {
  const { _errors, ...fields } = objectOrEmpty(tree);
  const inner = Object.entries(fields).flatMap(([name, field]) => {
    const step = /^\d+$/.test(name) ? `[${name}]` : `.${name}`;
    return problemsIn(field, `${at}${step}`.replace(/^\./, ""));
  });
  const [own] = Array.isArray(_errors) ? _errors : [];
  if (own === undefined) return inner;
  const said = String(own)
    .replace(/^Invalid (input|value)(: )?/, "")
    .replace("received undefined", "but it is missing");
  return [...inner, `${at}: ${said || "is not valid"}`];
}
