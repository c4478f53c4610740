import { create } from "@bufbuild/protobuf";
import { type AgentThought, AgentThoughtSchema } from "@devtool/schema";

/** Reads a thought as Gemini writes it, `**Subject** description`; text without a subject is all description. */
export function thoughtFrom(text: string): AgentThought {
  const match = /\*\*(.+?)\*\*/s.exec(text);
  const description = match ? text.slice(0, match.index) + text.slice(match.index + match[0].length) : text;
  return create(AgentThoughtSchema, { subject: match?.[1]?.trim() ?? "", description: description.trim() });
}
