/**
 * Returns the URL of an issuer's discovery document (OpenID Connect Discovery,
 * section 4).
 */
export function discoveryUrl(issuer: string): string {
  return `${issuer.replace(/\/$/, "")}/.well-known/openid-configuration`;
}
