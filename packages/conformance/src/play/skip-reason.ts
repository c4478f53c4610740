import { toJson } from "@bufbuild/protobuf";
import { type Case, StepSchema } from "../protos.ts";
import { type CaseContext, stepsFor, unmetNeed } from "./play-case.ts";

/**
 * Returns why a case cannot be played against a server in its binding. Returns
 * undefined if it can.
 */
export function skipReason(
  one: Case,
  { subject, variables }: Pick<CaseContext, "subject" | "variables">,
): string | undefined {
  const { binding, claims } = subject;
  const steps = stepsFor(one, subject);
  if (steps.length === 0) return `is about ${one.bindings.join(" and ")}`;
  const missing = steps.find(
    ({ method }) => method !== "" && !binding.has(method),
  );
  if (missing) {
    return `A2A ${binding.protocolVersion} has no ${missing.method} over ${binding.name}`;
  }
  const need = unmetNeed(one.needs, claims);
  if (need !== undefined) {
    const verb = need.startsWith("!") ? "claims" : "does not claim";
    return `the card ${verb} ${need.replace("!", "")}`;
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
