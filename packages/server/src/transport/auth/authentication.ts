import { hash, timingSafeEqual } from "node:crypto";
import type { BrowserSessions } from "../../handler/browser-sessions.ts";
import { ANONYMOUS, OPERATOR, type Right } from "../../handler/caller.ts";
import { type Authenticator, bearerOf, firstOf } from "./authenticator.ts";
import { createBrowserAuthenticator } from "./browser-authenticator.ts";
import { createCertificateAuthenticator } from "./certificate-authenticator.ts";
import type { JwtOptions } from "./jwt-authenticator.ts";

/** The callers that a server accepts besides the holder of the operator's token. */
export interface AuthenticationOptions {
  /**
   * Accepts the signed tokens of an issuer.
   *
   * Each subject is a principal of its own. Default: none are accepted.
   */
  readonly jwt?: JwtOptions;

  /**
   * The rights of callers with a client certificate that TLS has verified.
   *
   * Default: certificates are not asked for.
   */
  readonly certificates?: { readonly rights: readonly Right[] };

  /**
   * The sessions of web browsers.
   *
   * Default: there are none.
   */
  readonly browsers?: BrowserSessions;

  /**
   * Whether requests without credentials are admitted, without any rights.
   *
   * Default: they are refused.
   */
  readonly anonymous?: "refuse" | "admit";
}

/**
 * Creates the authenticator of a server.
 *
 * It looks for the operator's token first, then for signed tokens, then for certificates, and last
 * admits requests without credentials where that is allowed. Throws a `DevtoolError` for options
 * that cannot be used.
 */
export async function createAuthenticator(
  token: string,
  { jwt, certificates, browsers, anonymous = "refuse" }: AuthenticationOptions,
  now: () => Date,
): Promise<Authenticator> {
  const authenticators = [tokenAuthenticator(token)];
  if (browsers) authenticators.push(createBrowserAuthenticator(browsers));
  // A token identifies the caller, a certificate often only the machine: tokens come first.
  if (jwt) authenticators.push((await import("./jwt-authenticator.ts")).createJwtAuthenticator(jwt, now));
  if (certificates) authenticators.push(createCertificateAuthenticator(new Set(certificates.rights)));
  if (anonymous === "admit") authenticators.push(anonymousAuthenticator);
  return firstOf(authenticators);
}

/** Identifies the operator by a secret token, compared in constant time. */
function tokenAuthenticator(token: string): Authenticator {
  const digest = (text: string): Buffer => hash("sha256", text, "buffer");
  const expected = digest(token);
  return {
    authenticate: (request) =>
      timingSafeEqual(digest(bearerOf(request)), expected) ? { case: "caller", value: OPERATOR } : { case: "none" },
  };
}

/** Admits requests without credentials. Requests with wrong credentials stay refused. */
const anonymousAuthenticator: Authenticator = {
  authenticate: ({ headers }) =>
    headers.authorization === undefined ? { case: "caller", value: ANONYMOUS } : { case: "none" },
};
