import { readdir, readFile, stat } from "node:fs/promises";
import { join } from "node:path";
import type { Agent } from "@devtool/server";
import { readWorkflow, workflowAgent } from "@devtool/workflow";
import { errorCode, errorMessage } from "../errors.ts";
import { isWorkflowFile } from "./workflow-name.ts";

/** Returns the workflows of the user: the files in `workflows`, by name. */
export async function userWorkflows(data: string): Promise<readonly string[]> {
  const directory = join(data, "workflows");
  const names = await readdir(directory).catch((reason: unknown) => {
    if (errorCode(reason) === "ENOENT") return [];
    throw reason;
  });
  return names
    .filter(isWorkflowFile)
    .sort()
    .map((name) => join(directory, name));
}

/**
 * Reads a workflow, and makes the agent that it is.
 *
 * Throws for a file that others may change, since it gives work to agents.
 */
export async function createWorkflowAgent(
  path: string,
  options: Parameters<typeof workflowAgent>[1],
): Promise<Agent> {
  return workflowAgent(await readWorkflowFile(path), options);
}

/** Reads the workflow of a file that only the user may change. */
export async function readWorkflowFile(
  path: string,
): Promise<ReturnType<typeof readWorkflow>> {
  const text = await readFile(path, "utf8").catch((reason: unknown) => {
    throw new Error(
      `workflow file "${path}" cannot be read: ${errorMessage(reason)}`,
      { cause: reason },
    );
  });
  const { mode, uid } = await stat(path);
  if ((mode & 0o022) !== 0 || (uid !== 0 && uid !== process.getuid?.())) {
    throw new Error(
      `workflow file "${path}" may be changed by others: look at what it says, then chown it and chmod go-w it`,
    );
  }
  return readWorkflow(text, path);
}
