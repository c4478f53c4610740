import type { Case } from "../protos.ts";
import type { Subject } from "../subject/find-subject.ts";
import { agentMust, promptKeys } from "../suites/prompts.ts";
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
  const absent = steps.find(
    ({ method }) => method !== "" && !binding.has(method),
  );
  if (absent) {
    return `A2A ${binding.protocolVersion} has no ${absent.method} over ${binding.name}`;
  }
  const need = unmetNeed(
    isOfExtension(one) ? ["extension", ...one.needs] : one.needs,
    claims,
  );
  if (need !== undefined) {
    const verb = need.startsWith("!") ? "claims" : "does not claim";
    return `the card ${verb} ${need.replace("!", "")}`;
  }
  const missing = promptKeys(...steps).find(
    (key) => !variables.has(`prompt:${key}`),
  );
  return missing && `give --prompts with "${missing}": ${agentMust(missing)}`;
}

/**
 * Whether a run asks for a case: `only` is a prefix of its id. The extension's
 * are asked of an agent that does not claim it only by name.
 */
export function isAsked(
  one: Pick<Case, "id">,
  only: string,
  { claims }: Pick<Subject, "claims">,
): boolean {
  const isForeign = isOfExtension(one) && !claims.has("extension");
  return one.id.startsWith(only) && !(only === "" && isForeign);
}

/**
 * Throws if no case has an id that starts with `only`, with the groups of the
 * cases, or with the cases of its group.
 */
export function assertOnly(only: string, ids: readonly string[]): void {
  if (ids.some((id) => id.startsWith(only))) return;
  const group = /^[^/]*\//.exec(only)?.[0] ?? "";
  const ofGroup = ids.filter((id) => group !== "" && id.startsWith(group));
  const names =
    ofGroup.length > 0 ? ofGroup : ids.map((id) => id.replace(/\/.*/, "/"));
  throw new Error(
    `no case is named "${only}…": there are ${[...new Set(names)].join(", ")}`,
  );
}

/** Whether a case is about the extension, and not about A2A itself. */
function isOfExtension({ id }: Pick<Case, "id">): boolean {
  return !id.startsWith("a2a/");
}
