import { hash, timingSafeEqual } from "node:crypto";
import type { BrowserSessions } from "../../handler/browser-sessions.ts";
import { ANONYMOUS, OPERATOR } from "../../handler/caller.ts";
import {
  type Authenticator,
  bearerOf,
  firstOf,
  sourceOf,
} from "./authenticator.ts";
import {
  type CertificateOptions,
  certificateSource,
  createCertificateAuthenticator,
} from "./certificate-authenticator.ts";
import type { JwtOptions } from "./jwt-authenticator.ts";

/**
 * The callers that a server accepts besides the holder of the operator's token.
 */
export interface AuthenticationOptions {
  /**
   * Accepts the signed tokens of an issuer.
   *
   * Each subject is a principal of its own. Default: none are accepted.
   */
  readonly jwt?: JwtOptions;

  /**
   * Accepts client certificates that TLS has verified.
   *
   * Default: certificates are not asked for.
   */
  readonly certificates?: CertificateOptions;

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
 * It looks for the operator's token first, then for signed tokens, then for
 * certificates, and last admits requests without credentials where that is
 * allowed. Throws a `DevtoolError` for options that cannot be used.
 */
export async function createAuthenticator(
  token: string,
  { jwt, certificates, browsers, anonymous = "refuse" }: AuthenticationOptions,
  now: () => Date,
): Promise<Authenticator> {
  const authenticators = [tokenAuthenticator(token)];
  if (browsers) authenticators.push(browserAuthenticator(browsers));
  // A token identifies the caller, a certificate often only the machine: tokens
  // come first.
  if (jwt) {
    authenticators.push(
      (await import("./jwt-authenticator.ts")).createJwtAuthenticator(jwt, now),
    );
  }
  if (certificates) {
    authenticators.push(createCertificateAuthenticator(certificates));
  }
  if (anonymous === "admit") authenticators.push(anonymousAuthenticator);
  return firstOf(authenticators);
}

/**
 * Returns the sources of the credentials that a server with these options
 * accepts (`Caller.source`). No browser session outlasts its source.
 */
export async function credentialSources(
  token: string,
  { jwt, certificates }: Pick<AuthenticationOptions, "jwt" | "certificates">,
): Promise<ReadonlySet<string>> {
  const sources = [sourceOf("token", token)];
  if (jwt) {
    sources.push((await import("./jwt-authenticator.ts")).issuerSource(jwt));
  }
  if (certificates) sources.push(certificateSource(certificates));
  return new Set(sources);
}

/** Identifies the operator by a secret token, compared in constant time. */
function tokenAuthenticator(token: string): Authenticator {
  const expected = hash("sha256", token, "buffer");
  const caller = { ...OPERATOR, source: sourceOf("token", token) };
  return {
    authenticate(request) {
      const given = hash("sha256", bearerOf(request), "buffer");
      return timingSafeEqual(given, expected)
        ? { case: "caller", value: caller }
        : { case: "none" };
    },
  };
}

/**
 * Identifies callers by the tokens of browser sessions, and ends their
 * connections with the session.
 */
function browserAuthenticator(sessions: BrowserSessions): Authenticator {
  return {
    authenticate(request) {
      const token = bearerOf(request);
      const caller = token === "" ? undefined : sessions.callerOf(token);
      if (!caller) return { case: "none" };
      sessions.hold(
        token,
        "stream" in request ? request.stream : request.socket,
      );
      return { case: "caller", value: caller };
    },
  };
}

/**
 * Admits requests without credentials. Requests with wrong credentials stay
 * refused.
 */
const anonymousAuthenticator: Authenticator = {
  authenticate: ({ headers }) =>
    headers.authorization === undefined
      ? { case: "caller", value: ANONYMOUS }
      : { case: "none" },
};
