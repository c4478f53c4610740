import { toJson } from "@bufbuild/protobuf";
import { type Case, StepSchema } from "@devtool/schema/conformance";
import { type CaseContext, stepsFor } from "./play-case.ts";

/** Why a case cannot be played against this server in this binding; undefined when it can. */
export function whyNot(
  one: Case,
  { subject, variables }: Pick<CaseContext, "subject" | "variables">,
): string | undefined {
  const { binding, claims } = subject;
  const steps = stepsFor(one, binding.name);
  if (steps.length === 0) return `is about ${one.bindings.join(" and ")}`;
  const foreign = steps.find(({ method }) => method !== "" && !binding.has(method));
  if (foreign) return `A2A ${binding.protocolVersion} has no ${foreign.method} over ${binding.name}`;
  const unmet = one.needs.find((need) => claims.has(need.replace("!", "")) === need.startsWith("!"));
  if (unmet !== undefined)
    return `the card ${unmet.startsWith("!") ? "claims" : "does not claim"} ${unmet.replace("!", "")}`;
  const text = JSON.stringify(steps.map((step) => toJson(StepSchema, step)));
  const prompts = [...text.matchAll(/\$\{(prompt:[\w-]+)\}/g)].map(([, name = ""]) => name);
  const unknown = prompts.find((name) => !variables.has(name));
  return unknown && `no ${unknown} is known, by which the agent would do what the case needs`;
}
