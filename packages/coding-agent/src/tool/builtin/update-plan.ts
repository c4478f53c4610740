import { invalid } from "@devtool/server/agent";
import { z } from "zod";
import type { Tool } from "../tool.ts";
import { toolArgs } from "../tool-args.ts";
import { outputResult } from "../tool-result.ts";

const STEP = {
  step: z.string().describe("What is to be done, in a few words."),
  status: z
    .enum(["pending", "in_progress", "completed"])
    .describe("At most one step is in_progress."),
};

const PARAMETERS = toolArgs({
  plan: z.array(z.object(STEP)).describe("All steps in order."),
  explanation: z
    .string()
    .optional()
    .describe("Why the plan is new or changed."),
});

const MAX_STEPS = 100;

/**
 * Creates the tool `update_plan`, which shows the user the steps of a longer
 * task: at most 100. It changes nothing and needs no approval.
 */
export function updatePlanTool(): Tool {
  return {
    declaration: {
      name: "update_plan",
      description:
        "Shows the user the plan of a longer piece of work, whole, each time a step begins or ends.",
      parameters: PARAMETERS.jsonSchema,
    },
    prepare: async (args) => {
      const { plan, explanation = "" } = PARAMETERS.read(args);
      if (plan.length === 0 || plan.length > MAX_STEPS) {
        throw invalid(
          "plan",
          "",
          `has ${plan.length} steps`,
          `give 1 to ${MAX_STEPS}`,
        );
      }
      const running = plan.filter(
        ({ status }) => status === "in_progress",
      ).length;
      if (running > 1) {
        throw invalid(
          "plan",
          "",
          `has ${running} steps in_progress: at most one may be`,
        );
      }
      const done = plan.filter(({ status }) => status === "completed").length;
      return {
        args,
        description: `Plan: ${done} of ${plan.length} steps done`,
        execute: async function* () {
          yield outputResult({
            case: "structuredData",
            value: { explanation, plan },
          });
        },
      };
    },
  };
}
