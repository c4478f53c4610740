import { create, type JsonObject } from "@bufbuild/protobuf";
import { ToolOutputSchema } from "@devtool/schema";
import { invalid } from "../../errors.ts";
import type { Tool, ToolEvent } from "../tool.ts";
import { jsonSchemaOf, type Parameters, ToolArgs } from "../tool-args.ts";

const STATUSES: readonly string[] = ["pending", "in_progress", "completed"];

const STEP: Parameters = {
  required: {
    step: { type: "string", description: "What is to be done, in a few words." },
    status: { type: "string", description: "pending, in_progress or completed; at most one step is in_progress." },
  },
  optional: {},
};

const PARAMETERS: Parameters = {
  required: { plan: { type: "array", description: "All steps in order.", items: jsonSchemaOf(STEP) } },
  optional: { explanation: { type: "string", description: "Why the plan is new or changed." } },
};

const MAX_STEPS = 100;

/** `update_plan`: shows the user the steps of a longer piece of work; changes nothing and asks nothing. */
export function updatePlanTool(): Tool {
  return {
    declaration: {
      name: "update_plan",
      description: "Shows the user the plan of a longer piece of work, whole, each time a step begins or ends.",
      parameters: jsonSchemaOf(PARAMETERS),
    },
    prepare: async (args) => {
      const checked = new ToolArgs(args, PARAMETERS);
      const plan = checked.objects("plan", STEP).map(stepOf);
      if (plan.length === 0 || plan.length > MAX_STEPS) {
        throw invalid("plan", "", `has ${plan.length} steps: give 1 to ${MAX_STEPS}`);
      }
      const running = plan.filter(({ status }) => status === "in_progress").length;
      if (running > 1) throw invalid("plan", "", `has ${running} steps in_progress: at most one may be`);
      const done = plan.filter(({ status }) => status === "completed").length;
      return {
        args,
        description: `Plan: ${done} of ${plan.length} steps done`,
        execute: async function* () {
          yield planResult({ explanation: checked.text("explanation"), plan });
        },
      };
    },
  };
}

function stepOf(args: ToolArgs, index: number): { readonly step: string; readonly status: string } {
  const [step, status] = [args.text("step"), args.text("status")];
  if (STATUSES.includes(status)) return { step, status };
  throw invalid(`plan[${index}].status`, status, `is none of ${STATUSES.join(", ")}`);
}

function planResult(structuredData: JsonObject): ToolEvent {
  const value = create(ToolOutputSchema, { result: { case: "structuredData", value: structuredData } });
  return { case: "result", value: { case: "output", value } };
}
