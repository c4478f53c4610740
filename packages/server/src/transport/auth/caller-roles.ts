import { isObject } from "@devtool/internal/json";
import type { JWTPayload } from "jose";
import { invalid } from "../../errors.ts";
import { isVisible } from "../../handler/name-limit.ts";

/** The maximum number of roles of a caller. */
const MAX_ROLES = 256;

/** The maximum length of the name of a role or a tier, in characters. */
const MAX_NAME_LENGTH = 256;

/** The roles that credentials name, or why they cannot be used. */
export type NamedRoles =
  | { readonly case: "roles"; readonly value: readonly string[] }
  | { readonly case: "wrong"; readonly problem: string };

/**
 * Returns the roles in a claim of a token: a text, or a list of texts. Without
 * the claim there are none.
 *
 * Anything else is wrong as a whole: a rule may deny something to a role, so
 * none may be left out.
 *
 * @param claim its name. Dots lead into nested claims, unless it is a URL or a
 *   JSON pointer
 */
export function rolesInClaim(payload: JWTPayload, claim: string): NamedRoles {
  const found = valueOfClaim(payload, claim);
  if (found.case !== "value") {
    return found.case === "wrong" ? found : { case: "roles", value: [] };
  }
  const names: unknown[] = Array.isArray(found.value)
    ? found.value
    : [found.value];
  if (!names.every((name) => typeof name === "string")) {
    return wrong(claim, "is not a list of strings");
  }
  return checkedRoles(names, claim);
}

/**
 * Returns the tier of a subscription in a claim of a token, which must be a
 * text; none without the claim.
 *
 * @param claim its name, as for `rolesInClaim`
 */
export function tierInClaim(
  payload: JWTPayload,
  claim: string,
):
  | { readonly case: "tier"; readonly value: string }
  | { readonly case: "none" }
  | { readonly case: "wrong"; readonly problem: string } {
  const found = valueOfClaim(payload, claim);
  if (found.case !== "value") return found;
  const { value } = found;
  return typeof value !== "string" || isUnclear(value)
    ? wrong(claim, `is not a text of 1 to ${MAX_NAME_LENGTH} characters`)
    : { case: "tier", value };
}

/**
 * Throws `Code.InvalidArgument` for a claim that no token can have.
 *
 * @param field the setting that has it, for the error
 * @param claim names with dots between them, a URL, or a JSON pointer
 */
export function assertClaim(field: string, claim: string | undefined): void {
  if (claim === undefined) return;
  if (pathOf(claim).every((name) => name !== "") && !/~(?![01])/.test(claim)) {
    return;
  }
  const remedy =
    "write it as groups, realm_access.roles or /resource_access/my.client/roles";
  throw invalid(field, claim, "is not the name of a claim", remedy);
}

function pathOf(claim: string): readonly string[] {
  if (claim.startsWith("/")) {
    const names = claim.slice(1).split("/");
    return names.map((name) =>
      name.replaceAll("~1", "/").replaceAll("~0", "~"),
    );
  }
  return claim.includes("://") ? [claim] : claim.split(".");
}

type ClaimValue =
  | { readonly case: "value"; readonly value: unknown }
  | { readonly case: "none" }
  | { readonly case: "wrong"; readonly problem: string };

function valueOfClaim(payload: JWTPayload, claim: string): ClaimValue {
  const path = pathOf(claim);
  const [first = ""] = path;
  // An issuer that leaves out a list which is too long says where it is
  // (OpenID Connect, section 5.6.2).
  const elsewhere = payload._claim_names;
  if (isObject(elsewhere) && Object.hasOwn(elsewhere, first)) {
    return wrong(claim, "is not in the token, but elsewhere");
  }
  let value: unknown = payload;
  for (const name of path) {
    if (!isObject(value)) return wrong(claim, "is in a claim without others");
    if (!Object.hasOwn(value, name)) return { case: "none" };
    value = value[name];
  }
  return { case: "value", value };
}

/**
 * Returns roles sorted and without repetition, unless there are too many or
 * nobody can read one.
 *
 * @param origin where they come from, for the client
 */
export function checkedRoles(
  names: readonly string[],
  origin: string,
): NamedRoles {
  if (names.length > MAX_ROLES) {
    return wrong(
      origin,
      `has ${names.length} roles, and the limit is ${MAX_ROLES}`,
    );
  }
  if (names.some(isUnclear)) {
    return wrong(
      origin,
      `has a role that is empty, longer than ${MAX_NAME_LENGTH} characters or not visible`,
    );
  }
  return { case: "roles", value: [...new Set(names)].sort() };
}

function isUnclear(name: string): boolean {
  return name === "" || name.length > MAX_NAME_LENGTH || !isVisible(name);
}

function wrong(origin: string, problem: string) {
  return {
    case: "wrong" as const,
    problem: `${JSON.stringify(origin)} ${problem}`,
  };
}
