import { isObject } from "@devtool/internal/json";
import type { JWTPayload } from "jose";
import { isVisible } from "../../handler/name-limit.ts";

/** The maximum number of roles of a caller. */
const MAX_ROLES = 256;

/** The maximum length of the name of a role, in characters. */
const MAX_ROLE_LENGTH = 256;

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
 * @param claim its name. Dots lead into nested claims, unless it is a URL
 */
export function rolesInClaim(payload: JWTPayload, claim: string): NamedRoles {
  const path = claim.includes("://") ? [claim] : claim.split(".");
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
    if (!Object.hasOwn(value, name)) return { case: "roles", value: [] };
    value = value[name];
  }
  const names: unknown[] = Array.isArray(value) ? value : [value];
  if (!names.every((name) => typeof name === "string")) {
    return wrong(claim, "is not a list of strings");
  }
  return checkedRoles(names, claim);
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
  const unclear = names.some(
    (name) => name === "" || name.length > MAX_ROLE_LENGTH || !isVisible(name),
  );
  if (unclear) {
    return wrong(
      origin,
      `has a role that is empty, longer than ${MAX_ROLE_LENGTH} characters or not visible`,
    );
  }
  return { case: "roles", value: [...new Set(names)].sort() };
}

function wrong(origin: string, problem: string): NamedRoles {
  return { case: "wrong", problem: `${JSON.stringify(origin)} ${problem}` };
}
