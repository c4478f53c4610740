import type { MessageInitShape } from "@bufbuild/protobuf";
import type { AgentCardSchema } from "@devtool/schema/a2a-v03";
import { discoveryUrl } from "./discovery-url.ts";

/** How clients may say who they are, in neither version of A2A. */
export interface SecurityOptions {
  /** The issuer whose tokens are taken; undefined when none's are. */
  readonly issuer?: string;
  /** Whether client certificates are taken. */
  readonly certificates: boolean;
  /** What becomes of a request without credentials; when it is admitted, none are asked for. Default: it is refused. */
  readonly anonymous?: "refuse" | "admit";
}

/** Ways to authenticate, in the form of A2A 0.3 (section 5.5.3). */
type SecuritySchemes = NonNullable<MessageInitShape<typeof AgentCardSchema>["securitySchemes"]>;

/** The ways to authenticate, by name; any one of them is enough. These are what the guard takes, and no others. */
export function securitySchemesOf({ issuer, certificates, anonymous }: SecurityOptions): SecuritySchemes {
  if (anonymous === "admit") return {};
  return {
    bearer: { type: "http", scheme: "bearer", description: "The operator's token." },
    ...(issuer !== undefined && {
      oidc: { type: "openIdConnect", openIdConnectUrl: discoveryUrl(issuer), description: "A token of the issuer." },
    }),
    ...(certificates && { mtls: { type: "mutualTLS", description: "A client certificate." } }),
  };
}

/** Which of the ways are enough, in the form of A2A 0.3: any one. */
export function securityOf(options: SecurityOptions): Readonly<Record<string, string[]>>[] {
  return Object.keys(securitySchemesOf(options)).map((name) => ({ [name]: [] }));
}
