import { open } from "node:fs/promises";
import type { TaskSnapshot } from "@devtool/client";
import { oneLine, Role, visibleText } from "@devtool/schema";

/** Returns what the agent said last; empty if it has said nothing. */
export function lastWords({ items }: TaskSnapshot): string {
  const last = items.findLast(
    ({ role, part }) => role === Role.AGENT && part.content.case === "text",
  );
  return last?.part.content.case === "text" ? last.part.content.value : "";
}

/** Returns a conversation as Markdown. */
export function markdownOf({ items, task }: TaskSnapshot): string {
  const sections = items.flatMap(({ part, role }) => {
    const { content } = part;
    switch (content.case) {
      case "text":
        return [
          `## ${role === Role.USER ? "You" : "Agent"}\n\n${visibleText(content.value)}`,
        ];
      case "toolCall":
        return [
          `- ${oneLine(content.value.toolName)} ${oneLine(content.value.description ?? "")}`.trimEnd(),
        ];
      default:
        return [];
    }
  });
  return `# ${oneLine(task.title) || "Conversation"}\n\n${sections.join("\n\n")}\n`;
}

/**
 * Writes a text to a new file that only its owner may read. Throws when there
 * is a file of that name.
 */
export async function writeNewFile(path: string, text: string): Promise<void> {
  await using file = await open(path, "wx", 0o600);
  await file.writeFile(text);
}
