import { hash, timingSafeEqual } from "node:crypto";
import { OPERATOR } from "../../handler/caller.ts";
import type { Authenticator } from "./authenticator.ts";
import { bearerOf } from "./bearer.ts";

/** Knows the operator by one secret token, compared in constant time. */
export function createTokenAuthenticator(token: string): Authenticator {
  const expected = digest(token);
  return {
    authenticate: (request) =>
      timingSafeEqual(digest(bearerOf(request)), expected) ? { case: "caller", value: OPERATOR } : { case: "none" },
  };
}

function digest(text: string): Buffer {
  return hash("sha256", text, "buffer");
}
