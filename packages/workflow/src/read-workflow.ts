import { isObject, plainJson } from "@devtool/internal/json";
import {
  decodeStrictJson,
  type Workflow,
  WorkflowSchema,
} from "@devtool/schema";
import { Code, DevtoolError, quoted } from "@devtool/server/agent";
import { parse as parseToml } from "smol-toml";
import { parse as parseYaml } from "yaml";
import { checkWorkflow } from "./check-workflow.ts";

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
  const base = file.replace(/^.*\//, "");
  const [, own = "", ending = ""] = /^(.*)\.(ya?ml|toml)$/.exec(base) ?? [];
  if (ending === "") {
    throw unusable(
      file,
      "it is neither YAML nor TOML",
      "name it .yaml or .toml",
    );
  }
  let workflow: Workflow;
  try {
    const value: unknown =
      ending === "toml" ? parseToml(text) : parseYaml(text);
    if (!isObject(value)) throw new Error("it has no fields");
    workflow = decodeStrictJson(
      WorkflowSchema,
      withActions(plainJson(value)),
      "",
      {
        spelling: "name",
      },
    );
  } catch (reason) {
    const problem = reason instanceof Error ? reason.message : "";
    throw unusable(file, problem.trimEnd(), "");
  }
  const named = { ...workflow, name: workflow.name || own };
  try {
    checkWorkflow(named);
  } catch (reason) {
    const { problem, remedy } = DevtoolError.from(reason);
    throw unusable(file, problem, remedy);
  }
  return named;
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

function unusable(file: string, problem: string, remedy: string): DevtoolError {
  return new DevtoolError(
    `workflow file ${quoted(file)} cannot be used: ${problem}`,
    Code.InvalidArgument,
    { remedy },
  );
}
