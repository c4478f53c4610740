import type { MessageInitShape } from "@bufbuild/protobuf";
import type { AgentCardSchema } from "@devtool/schema/a2a-v03";

/**
 * The ways in which clients can authenticate, independent of the version of
 * A2A.
 */
export interface SecurityOptions {
  /**
   * The issuer whose tokens are accepted. Default: no signed tokens are
   * accepted.
   */
  readonly issuer?: string;

  /** Whether client certificates are accepted. */
  readonly certificates: boolean;

  /**
   * Whether requests without credentials are admitted; a card then asks for
   * none.
   *
   * Default: they are refused.
   */
  readonly anonymous?: "refuse" | "admit";
}

/** Security schemes by name, in the form of A2A 0.3 (section 5.5.3). */
type SecuritySchemes = NonNullable<
  MessageInitShape<typeof AgentCardSchema>["securitySchemes"]
>;

/**
 * Returns the security schemes of a card by name: exactly the credentials that
 * the guard accepts.
 *
 * Any one is enough.
 */
export function securitySchemesOf({
  issuer,
  certificates,
  anonymous,
}: SecurityOptions): SecuritySchemes {
  if (anonymous === "admit") return {};
  const schemes: SecuritySchemes = {
    bearer: {
      type: "http",
      scheme: "bearer",
      description: "The operator's token.",
    },
  };
  if (issuer !== undefined) {
    const openIdConnectUrl = discoveryUrl(issuer);
    schemes.oidc = {
      type: "openIdConnect",
      openIdConnectUrl,
      description: "A token of the issuer.",
    };
  }
  if (certificates) {
    schemes.mtls = { type: "mutualTLS", description: "A client certificate." };
  }
  return schemes;
}

/**
 * Returns the security requirements of a card, in the form of A2A 0.3: any one
 * of its schemes is enough.
 */
export function securityOf(
  options: SecurityOptions,
): Readonly<Record<string, string[]>>[] {
  return Object.keys(securitySchemesOf(options)).map((name) => ({
    [name]: [],
  }));
}

/**
 * Returns the URL of an issuer's discovery document (OpenID Connect Discovery,
 * section 4).
 */
export function discoveryUrl(issuer: string): string {
  return `${issuer.replace(/\/$/, "")}/.well-known/openid-configuration`;
}
