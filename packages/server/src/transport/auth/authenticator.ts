import { hash } from "node:crypto";
import type { Caller } from "../../handler/caller.ts";
import { type HttpRequest, headerOf } from "../http/route.ts";

/** The result of checking the credentials of a request. */
export type Verdict =
  /** The credentials are right. */
  | { readonly case: "caller"; readonly value: Caller }
  /**
   * The request has credentials of this kind, and they are wrong.
   *
   * The message goes to the client and reveals no secret.
   */
  | { readonly case: "wrong"; readonly message: string }
  /**
   * The request has credentials of this kind, but they cannot be checked at the
   * moment.
   */
  | { readonly case: "unavailable"; readonly message: string }
  /** The request has no credentials of this kind. */
  | { readonly case: "none" };

/** Identifies the caller of a request by one kind of credentials. */
export interface Authenticator {
  /** Checks a request. Wrong credentials are a verdict, never an error. */
  authenticate(request: HttpRequest): Verdict | Promise<Verdict>;
  /**
   * The URL of the metadata that says who issues tokens (RFC 9728). Default:
   * nobody does.
   */
  readonly resourceMetadata?: string | undefined;
}

/**
 * Combines authenticators: the first one that finds credentials of its kind
 * decides.
 */
export function firstOf(
  authenticators: readonly Authenticator[],
): Authenticator {
  return {
    async authenticate(request) {
      for (const authenticator of authenticators) {
        const verdict = await authenticator.authenticate(request);
        if (verdict.case !== "none") return verdict;
      }
      return { case: "none" };
    },
  };
}

/**
 * Returns the bearer token of a request; empty when it has none, or when the
 * header is malformed.
 */
export function bearerOf(request: HttpRequest): string {
  const [scheme = "", credentials = "", ...rest] = headerOf(
    request,
    "authorization",
  ).split(" ");
  return scheme.toLowerCase() === "bearer" && rest.length === 0
    ? credentials
    : "";
}

/**
 * Returns the digest of what accepts credentials of a kind (`Caller.source`),
 * in base64url.
 */
export function sourceOf(
  kind: "token" | "issuer" | "certificate" | "roles",
  ...settings: readonly unknown[]
): string {
  return hash("sha256", JSON.stringify([kind, ...settings]), "base64url");
}
