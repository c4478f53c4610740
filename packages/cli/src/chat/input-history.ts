import { appendFile, chmod, mkdir } from "node:fs/promises";
import { dirname } from "node:path";
import { parseJsonOrUndefined } from "@devtool/internal/json";
import { readPrivateFile, writePrivateFile } from "../private-file.ts";

/** Maximum number of messages that are kept. */
const MAX_KEPT = 1000;

/** The user's messages of this chat and earlier ones, the newest last. */
export interface InputHistory {
  readonly messages: readonly string[];
  /**
   * Adds a message, also to the file. The same message twice in a row is kept
   * once.
   */
  add(message: string): Promise<void>;
}

/**
 * Reads the history of a data directory: a file that only its owner may access,
 * with a JSON string in each line.
 *
 * Lines that are not valid are ignored. Throws when the file cannot be read, or
 * when others can read it.
 */
export async function readInputHistory(path: string): Promise<InputHistory> {
  const text = (await readPrivateFile(path)) ?? "";
  const messages = text
    .split("\n")
    .map(parseJsonOrUndefined)
    .filter((message) => typeof message === "string");
  if (messages.length > 2 * MAX_KEPT) {
    messages.splice(0, messages.length - MAX_KEPT);
    await writePrivateFile(
      path,
      messages.map((message) => `${JSON.stringify(message)}\n`).join(""),
    );
  }
  // A line that was cut would take the next one with it.
  let before = text === "" || text.endsWith("\n") ? "" : "\n";
  return {
    messages,
    add: async (message) => {
      if (message === "" || messages.at(-1) === message) return;
      messages.push(message);
      await mkdir(dirname(path), { recursive: true, mode: 0o700 });
      await appendFile(path, `${before}${JSON.stringify(message)}\n`, {
        mode: 0o600,
      });
      before = "";
      await chmod(path, 0o600);
    },
  };
}

/**
 * Finds the newest message that contains a text, at or before a position.
 * Returns its position, or -1.
 */
export function searchHistory(
  messages: readonly string[],
  text: string,
  from: number,
): number {
  return messages.findLastIndex(
    (message, index) => index <= from && message.includes(text),
  );
}
