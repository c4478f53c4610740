import type { MessageInitShape } from "@bufbuild/protobuf";
import type { AgentCardSchema } from "@devtool/schema/a2a-v03";
import type { DialectServices } from "../dialect.ts";

type Security = DialectServices["about"]["security"];

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
  openIdConnectUrl,
  certificates,
  anonymous,
}: Security): SecuritySchemes {
  if (anonymous === "admit") return {};
  const schemes: SecuritySchemes = {
    bearer: {
      type: "http",
      scheme: "bearer",
      description: "The operator's token.",
    },
  };
  if (openIdConnectUrl !== undefined) {
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
  options: Security,
): Readonly<Record<string, string[]>>[] {
  return Object.keys(securitySchemesOf(options)).map((name) => ({
    [name]: [],
  }));
}
