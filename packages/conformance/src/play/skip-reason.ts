import { toJson } from "@bufbuild/protobuf";
import { type Case, StepSchema } from "@devtool/schema/conformance";
import { type CaseContext, stepsFor } from "./play-case.ts";

/**
 * Returns why a case cannot be played against a server in its binding. Returns
 * undefined if it can.
 */
export function skipReason(
  one: Case,
  { subject, variables }: Pick<CaseContext, "subject" | "variables">,
): string | undefined {
  const { binding, claims } = subject;
  const steps = stepsFor(one, binding.name);
  if (steps.length === 0) return `is about ${one.bindings.join(" and ")}`;
  const missing = steps.find(
    ({ method }) => method !== "" && !binding.has(method),
  );
  if (missing) {
    return `A2A ${binding.protocolVersion} has no ${missing.method} over ${binding.name}`;
  }
  for (const need of one.needs) {
    const claim = need.replace("!", "");
    const isUnwanted = need.startsWith("!");
    if (claims.has(claim) === isUnwanted) {
      return `the card ${isUnwanted ? "claims" : "does not claim"} ${claim}`;
    }
  }
  const text = JSON.stringify(steps.map((step) => toJson(StepSchema, step)));
  const prompts = [...text.matchAll(/\$\{(prompt:[\w-]+)\}/g)].map(
    ([, name = ""]) => name,
  );
  const unknown = prompts.find((name) => !variables.has(name));
  return (
    unknown &&
    `no ${unknown} is given, by which the agent would do what the case needs`
  );
}
