import { withoutDeceiving } from "@devtool/internal/visible-text";
import type { TaskCreated } from "./gen/devtool/v1alpha/task_event_pb.ts";

/** Maximum length of a title, in characters (code points). */
export const MAX_TITLE_LENGTH = 80;

/**
 * Length of the text in which a title is looked for, so that a message of
 * megabytes costs nothing.
 */
const MAX_SEARCHED_LENGTH = 16_384;

/**
 * Returns the title that a new task has: the first line of its message that has
 * visible text, or its slash command. Empty if the message has no text.
 */
export function initialTitle({ message, command }: TaskCreated): string {
  if (command) {
    return shortTitle(
      titleLine(`/${[...command.commandPath, command.args].join(" ")}`),
    );
  }
  for (const { content } of message?.parts ?? []) {
    const title = content.case === "text" ? titleLine(content.value) : "";
    if (title !== "") return shortTitle(title);
  }
  return "";
}

/**
 * Returns the first line of a text that has visible characters, in the form of
 * a title: without invisible, control and bidirectional characters, except
 * those that hold an emoji together, and with single spaces. It may be longer
 * than a title can be. Empty if there is none.
 */
export function titleLine(text: string): string {
  for (const line of text
    .slice(0, MAX_SEARCHED_LENGTH)
    .split(/[\n\r\v\f\u0085\u2028\u2029]/)) {
    const title = withoutDeceiving(line.replaceAll(/\s+/g, " "))
      .replaceAll(/ +/g, " ")
      .trim();
    if (title !== "") return title;
  }
  return "";
}

/**
 * Returns a title for comparison: titles that differ in case or in forms of the
 * same character become equal.
 */
export function foldTitle(title: string): string {
  return title.normalize("NFKC").toLowerCase();
}

/**
 * Cuts a long title where no emoji and no accented letter is cut in two, unless
 * one of them is longer than a title.
 */
function shortTitle(title: string): string {
  const characters = [...title];
  if (characters.length <= MAX_TITLE_LENGTH) return title;
  const most = characters.slice(0, MAX_TITLE_LENGTH - 1).join("");
  let end = 0;
  for (const { index } of new Intl.Segmenter("en", {
    granularity: "grapheme",
  }).segment(title)) {
    if (index > most.length) break;
    end = index;
  }
  return `${(most.slice(0, end) || most).trimEnd()}…`;
}
