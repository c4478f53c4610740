import { constants } from "node:fs";
import { open } from "node:fs/promises";
import type { Agent } from "@devtool/server";
import {
  meshAgent,
  readMesh,
  readWorkflow,
  workflowAgent,
} from "@devtool/workflow";
import { errorMessage } from "../errors.ts";
import { assertOwn } from "./agent-programs.ts";
import { isMeshFile } from "./workflow-name.ts";

/** The engine for durable workflows that keeps runs; undefined for their tasks. */
export type WorkflowEngine = NonNullable<
  Parameters<typeof workflowAgent>[1]
>["engine"];

const MAX_FILE_BYTES = 1_048_576;

/**
 * Reads a workflow or a mesh, and makes the agent that it is.
 *
 * Throws for a file that others may change, since it gives work to agents.
 */
export async function createWorkflowAgent(
  path: string,
  options: Parameters<typeof workflowAgent>[1],
): Promise<Agent> {
  return isMeshFile(path)
    ? meshAgent(readMesh(await readOwnFile(path, "mesh"), path), options)
    : workflowAgent(await readWorkflowFile(path), options);
}

/** Reads the workflow of a file. */
export async function readWorkflowFile(
  path: string,
): Promise<ReturnType<typeof readWorkflow>> {
  if (isMeshFile(path)) {
    throw new Error(`"${path}" is a mesh: serve it with --agent`);
  }
  return readWorkflow(await readOwnFile(path, "workflow"), path);
}

/**
 * Reads a file that only the user, and that user's group, may change.
 */
async function readOwnFile(path: string, kind: string): Promise<string> {
  const what = `${kind} file "${path}"`;
  // A pipe would wait for a writer.
  const flags = constants.O_RDONLY | constants.O_NONBLOCK;
  const file = await open(path, flags).catch((reason: unknown) => {
    throw new Error(`${what} cannot be read: ${errorMessage(reason)}`, {
      cause: reason,
    });
  });
  await using _file = file;
  const stats = await file.stat();
  if (!stats.isFile()) {
    throw new Error(`${what} is not a file: name one of YAML or TOML`);
  }
  assertOwn(stats, what);
  if (stats.size > MAX_FILE_BYTES) {
    throw new Error(
      `${what} has ${stats.size} bytes: limit is ${MAX_FILE_BYTES}`,
    );
  }
  return await file.readFile("utf8");
}
