import { MAX_TITLE_LENGTH, titleLine } from "@devtool/internal/title-text";
import type { TaskCreated } from "./gen/devtool/v1alpha/task_event_pb.ts";

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
