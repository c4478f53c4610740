import { Role, type Task } from "@devtool/schema";

/** Returns the agent's last message: its texts after its last tool call, or else the text of the task's state. */
export function lastMessage({ history, stateText }: Task): string {
  const said = history.findLastIndex(({ role }) => role === Role.USER);
  const parts = history.slice(said + 1).flatMap((message) => message.parts);
  const called = parts.findLastIndex(({ content }) => content.case === "toolCall");
  const text = parts
    .slice(called + 1)
    .map(({ content }) => (content.case === "text" ? content.value : ""))
    .join("");
  return text === "" ? stateText : text;
}
