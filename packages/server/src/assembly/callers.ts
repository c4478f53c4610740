import { join } from "node:path";
import { defined } from "@devtool/internal/json";
import { BrowserSessions } from "../handler/browser-sessions.ts";
import type { Clock } from "../push/clock.ts";
import type { ServerSettings } from "../server-options.ts";
import {
  createAuthenticator,
  credentialSources,
} from "../transport/auth/authentication.ts";
import type { Authenticator } from "../transport/auth/authenticator.ts";
import { discoveryUrl } from "../transport/auth/discovery-url.ts";
import {
  roleAuthenticator,
  rolesSource,
} from "../transport/auth/role-authenticator.ts";
import type { AcceptedCredentials } from "../transport/dialect.ts";
import type { ProtectedResource } from "../transport/http/protected-resource.ts";

/** Authenticates the callers of a server. */
export interface Access {
  readonly authenticator: Authenticator;
  /** Undefined on a server without pages for web browsers. */
  readonly browsers: BrowserSessions | undefined;
}

/**
 * Opens the authenticator, and the sessions of web browsers where the server
 * has pages for them.
 *
 * @param shutdown ends the timers of the sessions when it aborts
 */
export async function openAccess(
  options: ServerSettings,
  token: string,
  { now, sleep }: Clock,
  shutdown: AbortSignal,
): Promise<Access> {
  const { site, dataDirectory, authentication, tls } = options;
  // The server requests certificates when it knows their authorities.
  const rights = authentication?.certificateRights ?? [];
  const authorities = tls?.clientAuthorities;
  const accepted = defined({
    anonymous: options.anonymous,
    jwt: authentication?.jwt,
    certificates:
      authorities === undefined
        ? undefined
        : {
            rights,
            authorities,
            rolesAttribute: authentication?.certificateRolesAttribute,
          },
  });
  const file =
    dataDirectory === undefined
      ? undefined
      : join(dataDirectory, "browser-sessions.json");
  const { roles = [] } = authentication ?? {};
  const sources = await credentialSources(token, accepted);
  const ofRoles = roles.length > 0 ? [...sources].map(rolesSource) : [];
  const browsers =
    site &&
    (await BrowserSessions.open({
      file,
      sources: new Set([...sources, ...ofRoles]),
      now,
      sleep,
    }));
  shutdown.addEventListener("abort", () => browsers?.[Symbol.dispose](), {
    once: true,
  });
  const authenticator = await createAuthenticator(
    token,
    defined({ ...accepted, browsers }),
    () => new Date(now()),
  );
  return {
    authenticator:
      roles.length > 0
        ? roleAuthenticator(authenticator, roles)
        : authenticator,
    browsers,
  };
}

/**
 * Returns the ways to authenticate that agent cards list: those that the server
 * accepts.
 */
export function cardSecurity({
  authentication,
  tls,
  anonymous = "refuse",
}: ServerSettings): AcceptedCredentials {
  const { issuer } = authentication?.jwt ?? {};
  return defined({
    certificates: tls?.clientAuthorities !== undefined,
    anonymous,
    openIdConnectUrl: issuer === undefined ? undefined : discoveryUrl(issuer),
  });
}

/**
 * Returns what a server says about the issuer of its tokens; undefined when it
 * accepts none.
 */
export function protectedResource(
  { authentication }: ServerSettings,
  baseUrl: string,
): ProtectedResource | undefined {
  const { issuer, approveScope, auditScope } = authentication?.jwt ?? {};
  if (issuer === undefined) return undefined;
  const scopes = [approveScope, auditScope].filter(
    (scope) => scope !== undefined,
  );
  return { baseUrl, issuer, scopes };
}
