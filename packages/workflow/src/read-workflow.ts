import { isObject, type plainJson } from "@devtool/internal/json";
import {
  decodeStrictJson,
  type Workflow,
  WorkflowSchema,
} from "@devtool/schema";
import { checkWorkflow } from "./check-workflow.ts";
import { readFile } from "./read-file.ts";

/**
 * Reads a workflow from a text of YAML or TOML, and checks it.
 *
 * Throws `Code.InvalidArgument` with the name of the file for a text that is no
 * workflow.
 *
 * @param file the name of the file: its ending says what the text is written in,
 * and the rest names a workflow that has no name
 */
export function readWorkflow(text: string, file: string): Workflow {
  return readFile(text, file, {
    what: "workflow",
    read: (fields) =>
      decodeStrictJson(WorkflowSchema, withActions(fields), "", {
        spelling: "name",
      }),
    check: checkWorkflow,
  });
}

/** Returns a value with the whole names of `on_failure`, which files leave out. */
function withActions(
  value: ReturnType<typeof plainJson>,
): ReturnType<typeof plainJson> {
  const { steps } = value;
  if (!Array.isArray(steps)) return value;
  return {
    ...value,
    steps: steps.map((step) => {
      if (!isObject(step)) return step;
      const action = step.on_failure;
      if (action === undefined) return withActions(step);
      if (typeof action !== "string" || !ACTIONS.includes(action)) {
        throw new Error(
          `on_failure ${JSON.stringify(action)} is unknown: choose ${ACTIONS.join(", ")}`,
        );
      }
      return withActions({
        ...step,
        on_failure: `FAILURE_ACTION_${action.toUpperCase()}`,
      });
    }),
  };
}

const ACTIONS: readonly string[] = ["stop", "continue", "compensate"];
