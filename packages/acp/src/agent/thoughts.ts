import { create } from "@bufbuild/protobuf";
import { type AgentThought, AgentThoughtSchema } from "@devtool/schema";

/**
 * Returns the thought of a text: `**Subject**` at its beginning is the subject.
 */
export function thoughtOf(text: string): AgentThought {
  const [, subject = "", description = text] =
    /^\s*\*\*(.+?)\*\*\s*([\s\S]*)$/.exec(text) ?? [];
  return create(AgentThoughtSchema, {
    subject,
    description: description.trim(),
  });
}
