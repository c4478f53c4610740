import { hash } from "node:crypto";

/**
 * Returns the digest of what accepts credentials of a kind (`Caller.source`),
 * in base64url.
 */
export function sourceOf(
  kind: "token" | "issuer" | "certificate",
  ...settings: readonly unknown[]
): string {
  return hash("sha256", JSON.stringify([kind, ...settings]), "base64url");
}
