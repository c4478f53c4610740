import { readdir } from "node:fs/promises";
import { join } from "node:path";
import { errorCode } from "../errors.ts";
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
