import { objectOrEmpty, stringOrEmpty } from "./json.ts";
import { oneLine } from "./visible-text.ts";

/** The maximum length of what is shown of an error's data, in characters. */
const MAX_DATA_LENGTH = 300;

/**
 * Returns the message of an error of JSON-RPC with what its data adds: a text,
 * the `details` or `message` in it, or its JSON, in one line of at most 300
 * characters.
 */
export function errorWords(message: string, data: unknown): string {
  if (data === undefined || data === null || data === "") return message;
  const { details, message: inner } = objectOrEmpty(data);
  const text = [data, details, inner].map(stringOrEmpty).find(Boolean);
  const more = oneLine(text ?? JSON.stringify(data), MAX_DATA_LENGTH);
  return message.includes(more) ? message : `${message}: ${more}`;
}
