import { invalid } from "@devtool/server/agent";
import { z } from "zod";
import { MEMORY_FILE_NAMES } from "../../trust/config-files.ts";
import type { Tool } from "../tool.ts";
import { toolArgs } from "../tool-args.ts";
import type { Workspace } from "../workspace.ts";
import { fileEditInvocation } from "./file-edit.ts";
import { matchFileFormat, readEditable } from "./file-edit-text.ts";

const PARAMETERS = toolArgs({
  fact: z
    .string()
    .describe(
      "The fact, as one sentence that can be understood without this conversation.",
    ),
});

/** The memory file to create when the workspace has none. */
const DEFAULT_MEMORY_FILE = "AGENTS.md";
/** The heading of the section to which facts are added. */
const HEADING = "## Added memories";
/** Maximum length of a fact in characters. */
const MAX_FACT_LENGTH = 2000;

/**
 * Creates the tool `save_memory`, which adds a fact to the memory file of the
 * workspace, after the user's approval.
 *
 * A fact becomes one line of at most 2000 characters. Without a memory file,
 * the call creates `AGENTS.md`.
 */
export function saveMemoryTool(workspace: Workspace): Tool {
  return {
    declaration: {
      name: "save_memory",
      description:
        "Remembers a fact about the workspace or its user for later conversations. Not for temporary facts.",
      parameters: PARAMETERS.jsonSchema,
    },
    prepare: async (args, _signal, pending) => {
      // A fact is put on one line, so that it cannot be anything but an item of
      // the list.
      const line = PARAMETERS.read(args).fact.replaceAll(/\s+/g, " ").trim();
      const fact = line.replace(/^[-*] /, "");
      if (fact === "") {
        throw invalid("fact", "", "is empty", "say what to remember");
      }
      if (fact.length > MAX_FACT_LENGTH) {
        throw invalid(
          "fact",
          "",
          `has ${fact.length} characters: limit is ${MAX_FACT_LENGTH}`,
        );
      }
      const path =
        MEMORY_FILE_NAMES.find(
          (name) =>
            pending?.has(name) || workspace.readFile(name) !== undefined,
        ) ?? DEFAULT_MEMORY_FILE;
      const oldContent = readEditable(workspace, path, pending);
      return fileEditInvocation({
        workspace,
        path,
        oldContent,
        newContent: matchFileFormat(
          oldContent,
          addFact(oldContent ?? "", fact),
        ),
        args,
        argsFor: (content) => ({ ...args, content }),
      });
    },
  };
}

/**
 * Adds an item at the end of the section of added memories. Adds that section
 * at the end of the file if it is missing.
 */
function addFact(content: string, fact: string): string {
  const lines = content.replaceAll("\r\n", "\n").trimEnd().split("\n");
  const heading = lines.findIndex((line) => line.trim() === HEADING);
  if (heading < 0) {
    const before = content.trim() === "" ? [] : [...lines, ""];
    return `${[...before, HEADING, "", `- ${fact}`].join("\n")}\n`;
  }
  const next = lines.findIndex(
    (line, index) => index > heading && /^#{1,2} /.test(line),
  );
  const end = next < 0 ? lines.length : next;
  const section = lines.slice(0, end).join("\n").trimEnd();
  const separator = section.endsWith(HEADING) ? "\n\n" : "\n";
  const rest = next < 0 ? "" : `\n${lines.slice(next).join("\n")}\n`;
  return `${section}${separator}- ${fact}\n${rest}`;
}
