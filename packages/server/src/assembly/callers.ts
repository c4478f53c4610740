import type { ServerSettings } from "../server-options.ts";
import type { AuthenticationOptions } from "../transport/auth/authentication.ts";
import type { SecurityOptions } from "../transport/auth/security-schemes.ts";

/** The security schemes of the card: those that the guard takes. */
export function securityOf({
  authentication: { jwt } = {},
  tls,
  anonymous = "refuse",
}: ServerSettings): SecurityOptions {
  return { certificates: tls?.clientAuthorities !== undefined, anonymous, ...(jwt && { issuer: jwt.issuer }) };
}

/** Who the guard lets in. Certificates count when the server asks for them. */
export function authenticationOf({
  authentication: { jwt, certificateRights = [] } = {},
  tls,
  anonymous = "refuse",
}: ServerSettings): AuthenticationOptions {
  return {
    anonymous,
    ...(jwt && { jwt }),
    ...(tls?.clientAuthorities !== undefined && { certificates: { rights: certificateRights } }),
  };
}
