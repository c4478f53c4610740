import type { Right } from "../../handler/caller.ts";
import { anonymousAuthenticator } from "./anonymous-authenticator.ts";
import { type Authenticator, firstOf } from "./authenticator.ts";
import type { JwtOptions } from "./jwt-authenticator.ts";
import { createTokenAuthenticator } from "./token-authenticator.ts";

/** Who is let in besides the holder of the operator's token. */
export interface AuthenticationOptions {
  /** Tokens of an issuer, each subject a principal of its own. Default: none. */
  readonly jwt?: JwtOptions;
  /** What callers may whose client certificate TLS has checked. Default: certificates are not asked for. */
  readonly certificates?: { readonly rights: readonly Right[] };
  /** What becomes of a request without credentials. Default: it is refused. */
  readonly anonymous?: "refuse" | "admit";
}

/**
 * Makes what tells who calls: the operator's token first, then signed tokens, then certificates, then nothing at all where
 * that is let in. Throws a `DevtoolError` for options that cannot be used.
 */
export async function createAuthenticator(
  token: string,
  { jwt, certificates, anonymous = "refuse" }: AuthenticationOptions,
  now: () => Date,
): Promise<Authenticator> {
  const found: Authenticator[] = [createTokenAuthenticator(token)];
  // A token says more about who calls than the machine it comes from.
  if (jwt) found.push((await import("./jwt-authenticator.ts")).createJwtAuthenticator(jwt, now));
  if (certificates) {
    const { createCertificateAuthenticator } = await import("./certificate-authenticator.ts");
    found.push(createCertificateAuthenticator(new Set(certificates.rights)));
  }
  if (anonymous === "admit") found.push(anonymousAuthenticator);
  return firstOf(found);
}
