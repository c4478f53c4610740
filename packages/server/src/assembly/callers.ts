import { defined } from "@devtool/schema/json";
import type { ServerSettings } from "../server-options.ts";
import type { AuthenticationOptions } from "../transport/auth/authentication.ts";
import type { SecurityOptions } from "../transport/auth/security-schemes.ts";

/**
 * Returns the ways to authenticate that agent cards list: those that
 * `authenticationFor` accepts.
 */
export function cardSecurity({
  authentication,
  tls,
  anonymous = "refuse",
}: ServerSettings): SecurityOptions {
  const certificates = tls?.clientAuthorities !== undefined;
  return defined({
    certificates,
    anonymous,
    issuer: authentication?.jwt?.issuer,
  });
}

/**
 * Returns the ways to authenticate that the server accepts. It requests
 * certificates when it knows their authorities.
 */
export function authenticationFor({
  authentication,
  tls,
  anonymous = "refuse",
}: ServerSettings): AuthenticationOptions {
  const rights = authentication?.certificateRights ?? [];
  const authorities = tls?.clientAuthorities;
  const certificates =
    authorities === undefined ? undefined : { rights, authorities };
  return defined({ anonymous, jwt: authentication?.jwt, certificates });
}
