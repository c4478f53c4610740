import type { Caller } from "../../handler/caller.ts";
import type { HttpRequest } from "../http/route.ts";

/** What came of looking at the credentials of a request. */
export type Verdict =
  | { readonly case: "caller"; readonly value: Caller }
  /** It has credentials of this kind, and they are wrong. The words are for its sender and tell no secret. */
  | { readonly case: "wrong"; readonly message: string }
  /** It has credentials of this kind, and what they would be checked with cannot be had now. */
  | { readonly case: "unavailable"; readonly message: string }
  /** It has none of this kind. */
  | { readonly case: "none" };

/** Tells who sends a request. Throws nothing for credentials that are wrong. */
export interface Authenticator {
  authenticate(request: HttpRequest): Verdict | Promise<Verdict>;
}

/** Takes the word of the first that finds credentials of its kind. */
export function firstOf(authenticators: readonly Authenticator[]): Authenticator {
  return {
    async authenticate(request) {
      for (const each of authenticators) {
        const verdict = await each.authenticate(request);
        if (verdict.case !== "none") return verdict;
      }
      return { case: "none" };
    },
  };
}
