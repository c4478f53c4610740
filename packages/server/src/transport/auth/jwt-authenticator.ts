import { defined } from "@devtool/internal/json";
import { shownUrl } from "@devtool/internal/shown-url";
import {
  errors,
  type JWTPayload,
  type JWTVerifyGetKey,
  type JWTVerifyOptions,
  jwtVerify,
} from "jose";
import { invalid } from "../../errors.ts";
import { COMMON_RIGHTS } from "../../handler/caller.ts";
import { isVisible } from "../../handler/name-limit.ts";
import {
  type Authenticator,
  bearerOf,
  sourceOf,
  type Verdict,
} from "./authenticator.ts";
import { assertClaim, rolesInClaim, tierInClaim } from "./caller-roles.ts";
import { type IssuerKeys, issuerKeys } from "./issuer-keys.ts";

/** The signed tokens that a server accepts, and the rights that they give. */
export interface JwtOptions extends IssuerKeys {
  /**
   * The audience that tokens must name: this server, as its issuer knows it.
   * Must not be empty.
   */
  readonly audience: string;

  /**
   * The accepted signature algorithms, one or more: RS, PS or ES with 256, 384
   * or 512, EdDSA and Ed25519.
   *
   * Shared secrets are not possible. Default: RS256, PS256, ES256, EdDSA.
   */
  readonly algorithms?: readonly string[];

  /**
   * The scope that gives the right to approve tool calls, in the claim `scope`
   * (RFC 8693) or `scp`. Default: every token gives it.
   */
  readonly approveScope?: string;

  /**
   * The scope that gives the right to read the audit log, in the same claims.
   *
   * Default: no token gives it, only the operator's token.
   */
  readonly auditScope?: string;

  /**
   * The claim that names the caller's roles: a text, or a list of texts. Dots
   * lead into nested claims (`realm_access.roles`), unless the name is a URL or
   * a JSON pointer (`/resource_access/my.client/roles`).
   *
   * Tokens with any other value are refused. Default: callers have no roles.
   */
  readonly rolesClaim?: string;

  /**
   * The claim that names the tier of the caller's subscription, a text, in the
   * same form. Clients are shown it; nothing is decided by it.
   *
   * Tokens with any other value are refused. Default: callers have no tier.
   */
  readonly tierClaim?: string;
}

const ALGORITHMS = ["RS256", "PS256", "ES256", "EdDSA"];
const PUBLIC_KEY_ALGORITHMS = /^(RS|PS|ES)(256|384|512)$|^EdDSA$|^Ed25519$/;

/** Accepted difference between the clocks of issuer and server, in seconds. */
const CLOCK_TOLERANCE_S = 60;

/** Number of parts of a signed token, separated by full stops. */
const PARTS_OF_JWT = 3;

const MAX_SUBJECT_LENGTH = 1000;

/**
 * Creates an authenticator for the signed tokens of one issuer (OpenID Connect,
 * RFC 9068).
 *
 * It verifies signature, algorithm, issuer, audience and times; clocks may
 * differ by a minute. The principal is made of issuer and subject. Throws a
 * `DevtoolError` for options that would accept anybody's tokens.
 */
export function createJwtAuthenticator(
  options: JwtOptions,
  now: () => Date,
): Authenticator {
  const { issuer, audience, algorithms = ALGORITHMS } = options;
  assertSafeOptions(options);
  const getKey = issuerKeys(options);
  const source = issuerSource(options);
  return {
    async authenticate(request) {
      const token = bearerOf(request);
      if (token.split(".").length !== PARTS_OF_JWT) return { case: "none" };
      try {
        const payload = await verify(token, getKey, {
          issuer,
          audience,
          algorithms: [...algorithms],
          currentDate: now(),
          clockTolerance: CLOCK_TOLERANCE_S,
          requiredClaims: ["exp", "sub"],
        });
        return identifyCaller(payload, options, source);
      } catch (reason) {
        return refuseToken(reason, issuer);
      }
    },
  };
}

function assertSafeOptions({
  issuer,
  audience,
  algorithms = ALGORITHMS,
  rolesClaim,
  tierClaim,
}: JwtOptions): void {
  assertClaim("roles_claim", rolesClaim);
  assertClaim("tier_claim", tierClaim);
  const url = URL.parse(issuer);
  if (url?.hash !== "") {
    throw invalid(
      "issuer",
      shownUrl(issuer),
      "is not a URL without a fragment",
      "write it as it stands in its tokens",
    );
  }
  if (audience === "") {
    throw invalid(
      "audience",
      audience,
      "is empty: tokens for other services would be accepted",
    );
  }
  if (algorithms.length === 0) {
    throw invalid("algorithms", "", "is empty", "name at least one");
  }
  const odd = algorithms.find(
    (algorithm) => !PUBLIC_KEY_ALGORITHMS.test(algorithm),
  );
  if (odd === undefined) return;
  throw invalid(
    "algorithms",
    odd,
    "is not a public-key signature algorithm",
    "choose ES256 or another",
  );
}

/**
 * Verifies a token. One without a key id is tried with every key that it may be
 * signed with.
 */
async function verify(
  token: string,
  getKey: JWTVerifyGetKey,
  options: JWTVerifyOptions,
): Promise<JWTPayload> {
  try {
    return (await jwtVerify(token, getKey, options)).payload;
  } catch (reason) {
    if (!(reason instanceof errors.JWKSMultipleMatchingKeys)) throw reason;
    for await (const key of reason) {
      try {
        return (await jwtVerify(token, key, options)).payload;
      } catch (failure) {
        if (!(failure instanceof errors.JWSSignatureVerificationFailed)) {
          throw failure;
        }
      }
    }
    throw new errors.JWSSignatureVerificationFailed();
  }
}

/**
 * Identifies an issuer, and which of its tokens are accepted for what
 * (`Caller.source`).
 */
export function issuerSource(options: JwtOptions): string {
  const {
    issuer,
    audience,
    keys,
    jwksUri,
    algorithms = ALGORITHMS,
    approveScope,
    auditScope,
    rolesClaim,
    tierClaim,
  } = options;
  return sourceOf(
    "issuer",
    issuer,
    audience,
    keys,
    jwksUri,
    algorithms,
    approveScope,
    auditScope,
    // Without it, the source is that of earlier versions.
    ...(rolesClaim === undefined ? [] : [{ rolesClaim }]),
    ...(tierClaim === undefined ? [] : [{ tierClaim }]),
  );
}

function identifyCaller(
  payload: JWTPayload,
  { issuer, approveScope, auditScope, rolesClaim, tierClaim }: JwtOptions,
  source: string,
): Verdict {
  // Two callers could share a subject that is not a text (`["bob"]` becomes
  // `bob`), has lone surrogates, which are all stored alike, or characters that
  // nobody sees.
  const subject: unknown = payload.sub;
  if (
    typeof subject !== "string" ||
    subject === "" ||
    subject.length > MAX_SUBJECT_LENGTH ||
    !isVisible(subject)
  ) {
    return { case: "wrong", message: "the token has no unambiguous subject" };
  }
  const roles =
    rolesClaim === undefined ? undefined : rolesInClaim(payload, rolesClaim);
  const tier =
    tierClaim === undefined ? undefined : tierInClaim(payload, tierClaim);
  for (const claim of [roles, tier]) {
    if (claim?.case !== "wrong") continue;
    const message = `the token is not accepted: its claim ${claim.problem}`;
    return { case: "wrong", message };
  }
  const scopes = scopesOf(payload);
  const rights = new Set(COMMON_RIGHTS);
  if (approveScope === undefined || scopes.has(approveScope)) {
    rights.add("approve");
  }
  if (auditScope !== undefined && scopes.has(auditScope)) rights.add("audit");
  const caller = {
    principal: `${issuer}#${subject}`,
    rights,
    source,
    ...defined({
      roles: roles?.case === "roles" ? roles.value : undefined,
      userTier: tier?.case === "tier" ? tier.value : undefined,
    }),
  };
  if (payload.exp === undefined) return { case: "caller", value: caller };
  // Also for a clock that is behind.
  return {
    case: "caller",
    value: { ...caller, expireMs: (payload.exp + CLOCK_TOLERANCE_S) * 1000 },
  };
}

/**
 * Returns the scopes of a token: a text separated by spaces (RFC 8693), or a
 * list, as some issuers write them.
 */
function scopesOf({ scope, scp }: JWTPayload): ReadonlySet<string> {
  const listed: unknown = scope ?? scp;
  if (typeof listed === "string") {
    return new Set(listed.split(" ").filter((each) => each !== ""));
  }
  return new Set(
    Array.isArray(listed)
      ? listed.filter((each) => typeof each === "string")
      : [],
  );
}

/**
 * Returns the verdict for an error of verification. Where the keys could not be
 * had, the token is not called wrong: a new login would not help.
 */
function refuseToken(reason: unknown, issuer: string): Verdict {
  const flaw = TOKEN_FLAWS.find(([kind]) => reason instanceof kind);
  if (!flaw) {
    const message = `the keys of issuer ${JSON.stringify(shownUrl(issuer))} are not available: try again later`;
    return { case: "unavailable", message };
  }
  const claim =
    reason instanceof errors.JWTClaimValidationFailed
      ? `its claim "${reason.claim}" is wrong`
      : flaw[1];
  return { case: "wrong", message: `the token is not accepted: ${claim}` };
}

/**
 * The errors of verification that are the token's fault, with the reason that
 * its sender is given.
 */
const TOKEN_FLAWS = [
  [errors.JWTExpired, "it has expired"],
  [errors.JWTClaimValidationFailed, "a claim is wrong"],
  [errors.JWTInvalid, "it is malformed"],
  [errors.JWSInvalid, "it is malformed"],
  [errors.JWSSignatureVerificationFailed, "its signature is wrong"],
  [errors.JOSEAlgNotAllowed, "its algorithm is not allowed"],
  [errors.JOSENotSupported, "it is malformed"],
  [errors.JWKSNoMatchingKey, "no key of the issuer matches it"],
] as const;
