import { errors, type JWTPayload, type JWTVerifyGetKey, jwtVerify } from "jose";
import { invalid } from "../../errors.ts";
import type { Caller, Right } from "../../handler/caller.ts";
import type { Authenticator, Verdict } from "./authenticator.ts";
import { bearerOf } from "./bearer.ts";
import { type IssuerKeys, issuerKeys } from "./issuer-keys.ts";

/** Whose signed tokens are taken, and what they may. */
export interface JwtOptions extends IssuerKeys {
  /** Whom the tokens must be for: this server, as its issuer knows it. */
  readonly audience: string;
  /** The signature algorithms that are taken, none with a shared secret. Default: RS256, PS256, ES256, EdDSA. */
  readonly algorithms?: readonly string[];
  /** The scope that a token needs to answer what tools ask. Default: every token may. */
  readonly approveScope?: string;
  /** The scope that a token needs to read the audit log. Default: none may, only the operator's token. */
  readonly auditScope?: string;
}

const ALGORITHMS = ["RS256", "PS256", "ES256", "EdDSA"];
const SIGNATURES = /^(RS|PS|ES)(256|384|512)$|^EdDSA$|^Ed25519$/;
const CLOCK_TOLERANCE_S = 60;
const PARTS_OF_JWT = 3;

/**
 * Knows callers by signed tokens of one issuer (OpenID Connect, RFC 9068): signature, algorithm, issuer, audience and
 * times are checked, the clocks may differ by a minute. The principal is issuer and subject.
 *
 * Throws a `DevtoolError` for options that would take tokens of anybody.
 */
export function createJwtAuthenticator(options: JwtOptions, now: () => Date): Authenticator {
  const { issuer, audience, algorithms = ALGORITHMS } = options;
  assertUsable(options);
  const getKey = issuerKeys(options);
  return {
    async authenticate(request) {
      const token = bearerOf(request);
      if (token.split(".").length !== PARTS_OF_JWT) return { case: "none" };
      try {
        const { payload } = await verified(token, getKey, {
          issuer,
          audience,
          algorithms: [...algorithms],
          currentDate: now(),
        });
        return verdictOf(payload, options);
      } catch (reason) {
        return refused(reason, issuer);
      }
    },
  };
}

interface Expected {
  readonly issuer: string;
  readonly audience: string;
  readonly algorithms: string[];
  readonly currentDate: Date;
}

/** Verifies a token, with each of the keys that it may mean when it names none. */
async function verified(token: string, getKey: JWTVerifyGetKey, expected: Expected): Promise<{ payload: JWTPayload }> {
  const options = { ...expected, clockTolerance: CLOCK_TOLERANCE_S, requiredClaims: ["exp", "sub"] };
  try {
    return await jwtVerify(token, getKey, options);
  } catch (reason) {
    if (!(reason instanceof errors.JWKSMultipleMatchingKeys)) throw reason;
    for await (const key of reason) {
      const result = await jwtVerify(token, key, options).catch(unlessSignature);
      if (result) return result;
    }
    throw new errors.JWSSignatureVerificationFailed();
  }
}

function unlessSignature(reason: unknown): undefined {
  if (!(reason instanceof errors.JWSSignatureVerificationFailed)) throw reason;
}

function verdictOf(payload: JWTPayload, options: JwtOptions): Verdict {
  const subject = subjectOf(payload);
  if (subject === undefined)
    return { case: "wrong", message: "the token names no subject that can be told from others" };
  return { case: "caller", value: callerOf(subject, scopesOf(payload), options) };
}

const MAX_SUBJECT_LENGTH = 1000;

/** The subject; undefined for what two callers could share: `["bob"]` reads as `bob`, and lone surrogates are stored alike. */
function subjectOf({ sub }: Readonly<Record<string, unknown>>): string | undefined {
  if (typeof sub !== "string" || sub === "" || sub.length > MAX_SUBJECT_LENGTH) return undefined;
  return sub.isWellFormed() && !/\p{Cc}/u.test(sub) ? sub : undefined;
}

function callerOf(sub: string, scopes: ReadonlySet<string>, { issuer, approveScope, auditScope }: JwtOptions): Caller {
  const rights = new Set<Right>();
  if (approveScope === undefined || scopes.has(approveScope)) rights.add("approve");
  if (auditScope !== undefined && scopes.has(auditScope)) rights.add("audit");
  return { principal: `${issuer}#${sub}`, rights };
}

/** The scopes of a token: one text with blanks (RFC 8693), or a list, as some issuers write them. */
function scopesOf({ scope, scp }: JWTPayload): ReadonlySet<string> {
  const listed: unknown = scope ?? scp;
  if (typeof listed === "string") return new Set(listed.split(" ").filter((each) => each !== ""));
  return new Set(Array.isArray(listed) ? listed.filter((each) => typeof each === "string") : []);
}

/** What is wrong with a token is told by its kind; what kept us from looking is another answer, so that nobody logs in anew in vain. */
function refused(reason: unknown, issuer: string): Verdict {
  if (isOfToken(reason)) return { case: "wrong", message: `the token is not taken: ${wordsOf(reason)}` };
  return {
    case: "unavailable",
    message: `the keys of issuer ${JSON.stringify(issuer)} cannot be had: try again later`,
  };
}

const OF_TOKEN = [
  errors.JWTInvalid,
  errors.JWTExpired,
  errors.JWTClaimValidationFailed,
  errors.JWSInvalid,
  errors.JWSSignatureVerificationFailed,
  errors.JOSEAlgNotAllowed,
  errors.JOSENotSupported,
  errors.JWKSNoMatchingKey,
];

function isOfToken(reason: unknown): reason is errors.JOSEError {
  return OF_TOKEN.some((kind) => reason instanceof kind);
}

function wordsOf(reason: errors.JOSEError): string {
  if (reason instanceof errors.JWTExpired) return "it has expired";
  if (reason instanceof errors.JWTClaimValidationFailed) return `its claim "${reason.claim}" is wrong`;
  if (reason instanceof errors.JWKSNoMatchingKey) return "no key of the issuer fits it";
  if (reason instanceof errors.JWSSignatureVerificationFailed) return "its signature is wrong";
  if (reason instanceof errors.JOSEAlgNotAllowed) return "its algorithm is not allowed";
  return "it is malformed";
}

function assertUsable({ issuer, audience, algorithms = ALGORITHMS }: JwtOptions): void {
  const url = URL.parse(issuer);
  if (url?.hash !== "") throw invalid("issuer", issuer, "is no URL without fragment", "write it as in its tokens");
  if (audience === "") throw invalid("audience", audience, "is empty: tokens for other services would be taken");
  const odd = algorithms.find((algorithm) => !SIGNATURES.test(algorithm));
  if (odd !== undefined)
    throw invalid("algorithms", odd, "is not a public-key signature algorithm", "choose ES256 or another");
  if (algorithms.length === 0) throw invalid("algorithms", "", "is empty", "name at least one");
}
