import type { JsonObject } from "@bufbuild/protobuf";
import type { ReadDecision } from "@devtool/policy";
import { Code, DevtoolError } from "@devtool/server/agent";
import type { Tool, ToolInvocation } from "../tool.ts";
import type { Workspace } from "../workspace.ts";

/**
 * A tool that edits files, held to what the rules say about reading them: whether an edit fits a file, and the change that it
 * makes, say what is in it. A file that may not be read is not edited; of one that is asked about, an edit that does not fit
 * says no more than that.
 */
export function keptBackEdit(tool: Tool, workspace: Workspace, decide: ReadDecision): Tool {
  return {
    ...tool,
    prepare: async (args, signal) => {
      const path = pathOf(args, workspace);
      const decision = path === undefined ? "allow" : decide(path);
      if (path === undefined || decision === "allow") return tool.prepare(args, signal);
      if (decision === "deny") assertMissing(workspace, path);
      return prepareUnread(tool.prepare(args, signal), path);
    },
  };
}

/** The path in the workspace; undefined for arguments that the tool itself refuses. */
function pathOf({ file_path: path }: JsonObject, workspace: Workspace): string | undefined {
  return typeof path === "string" ? workspace.locate(path) : undefined;
}

function assertMissing(workspace: Workspace, path: string): void {
  using file = workspace.openFile(path);
  if (!file) return;
  const problem = "may not be edited: the policy denies reading it, and an edit tells what is in it";
  throw new DevtoolError(`path ${JSON.stringify(path)} ${problem}`, Code.PermissionDenied);
}

async function prepareUnread(prepared: Promise<ToolInvocation>, path: string): Promise<ToolInvocation> {
  try {
    return await prepared;
  } catch (reason) {
    const remedy = "read_file asks whether you may see what is in it";
    const problem = `path ${JSON.stringify(path)} cannot be edited like this`;
    throw new DevtoolError(problem, Code.InvalidArgument, { remedy, cause: reason });
  }
}
