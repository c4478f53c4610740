import { invalid } from "@devtool/server/agent";
import { z } from "zod";
import type { Tool } from "../tool.ts";
import { toolArgs } from "../tool-args.ts";
import type { Workspace } from "../workspace.ts";
import { fileEditInvocation } from "./file-edit.ts";
import { inStyleOf, readEditable } from "./file-edit-text.ts";

const PARAMETERS = toolArgs({
  fact: z.string().describe("The fact, as one sentence that can be understood without this conversation."),
});

/** The files that an agent's memory may lie in; the first that is there, or else the first. */
const MEMORY_FILES = ["AGENTS.md", "GEMINI.md"] as const;
const HEADING = "## Added memories";
const MAX_FACT_LENGTH = 2000;

/** `save_memory`: adds a fact to the memory file of the workspace; asks first, as for any change of a file. */
export function saveMemoryTool(workspace: Workspace): Tool {
  return {
    declaration: {
      name: "save_memory",
      description: "Remembers a fact about the workspace or its user for later conversations. Not for passing things.",
      parameters: PARAMETERS.jsonSchema,
    },
    prepare: async (args) => {
      const fact = factOf(PARAMETERS.read(args).fact);
      const path = MEMORY_FILES.find((name) => workspace.readFile(name) !== undefined) ?? MEMORY_FILES[0];
      const oldContent = readEditable(workspace, path);
      return fileEditInvocation({
        workspace,
        path,
        oldContent,
        newContent: inStyleOf(oldContent, withFact(oldContent ?? "", fact)),
        args,
        argsFor: (content) => ({ ...args, content }),
      });
    },
  };
}

/** The fact in one line, so that it can be nothing but an item of the list. */
function factOf(said: string): string {
  const fact = said
    .replaceAll(/\s+/g, " ")
    .trim()
    .replace(/^[-*] /, "");
  if (fact === "") throw invalid("fact", "", "is empty", "say what to remember");
  if (fact.length <= MAX_FACT_LENGTH) return fact;
  throw invalid("fact", "", `has ${fact.length} characters: limit is ${MAX_FACT_LENGTH}`);
}

/** Adds an item at the end of the section of added memories, which comes last when it is new. */
function withFact(content: string, fact: string): string {
  const lines = content.replaceAll("\r\n", "\n").trimEnd().split("\n");
  const heading = lines.findIndex((line) => line.trim() === HEADING);
  if (heading < 0)
    return `${[...(content.trim() === "" ? [] : [...lines, ""]), HEADING, "", `- ${fact}`].join("\n")}\n`;
  const next = lines.findIndex((line, index) => index > heading && /^#{1,2} /.test(line));
  const end = next < 0 ? lines.length : next;
  const section = lines.slice(0, end).join("\n").trimEnd();
  const separator = section.endsWith(HEADING) ? "\n\n" : "\n";
  const rest = next < 0 ? "" : `\n${lines.slice(next).join("\n")}\n`;
  return `${section}${separator}- ${fact}\n${rest}`;
}
