/** The URL of the discovery document of an issuer (OpenID Connect Discovery, section 4). */
export function discoveryUrl(issuer: string): string {
  return `${issuer.replace(/\/$/, "")}/.well-known/openid-configuration`;
}
