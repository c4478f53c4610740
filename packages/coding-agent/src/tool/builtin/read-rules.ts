import type { ReadDecision } from "@devtool/policy";
import { Code, DevtoolError } from "@devtool/server/agent";
import type { Tool } from "../tool.ts";
import type { Workspace } from "../workspace.ts";

/**
 * Applies the rules about reading files to a tool that edits files, because an
 * edit reveals content of the file.
 *
 * A file that must not be read cannot be edited. For a file that needs approval
 * to be read, an edit that does not match fails without details.
 */
export function withReadRules(
  tool: Tool,
  workspace: Workspace,
  decide: ReadDecision,
): Tool {
  return {
    ...tool,
    prepare: async (args, signal, pending) => {
      // The tool itself rejects arguments without a path.
      if (typeof args.file_path !== "string")
        return tool.prepare(args, signal, pending);
      const path = workspace.locate(args.file_path);
      const decision = decide(path);
      if (decision === "allow") return tool.prepare(args, signal, pending);
      if (decision === "deny") {
        // A new file has no content to reveal.
        using file = workspace.openFile(path);
        if (file) {
          const problem =
            "may not be edited: the policy denies reading it, and an edit tells what is in it";
          throw new DevtoolError(
            `path ${JSON.stringify(path)} ${problem}`,
            Code.PermissionDenied,
          );
        }
      }
      try {
        return await tool.prepare(args, signal, pending);
      } catch (reason) {
        const remedy = "read_file asks whether you may see what is in it";
        const problem = `path ${JSON.stringify(path)} cannot be edited like this`;
        throw new DevtoolError(problem, Code.InvalidArgument, {
          remedy,
          cause: reason,
        });
      }
    },
  };
}
