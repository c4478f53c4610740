import { create, type JsonObject } from "@bufbuild/protobuf";
import {
  type AgentCard,
  AgentInterfaceSchema,
  agentCardFromV03,
  type SecurityRequirement,
  SecurityRequirementSchema,
} from "@devtool/schema/a2a-v1";
import type { AgentCard as CardV03 } from "@devtool/schema/a2a-v03";

/** The role that each type of security scheme gives its client. */
const ROLES: Readonly<Record<string, string>> = {
  http: "operator",
  openIdConnect: "openid",
  mutualTLS: "client",
};

/** Where an agent of A2A 1.0 is reached. */
export interface Reach {
  /** The URL at which clients reach it, without a trailing slash. */
  readonly baseUrl: string;
  /** The tenant that calls must name. Default: none. */
  readonly tenant?: string | undefined;
  /** Whether the card lists gRPC. */
  readonly grpc: boolean;
}

/**
 * Returns a card in the form of A2A 1.0, from its form of 0.3.
 *
 * It lists the bindings of both versions; those of 1.0 come first, as the
 * preferred ones.
 */
export function agentCardV1(
  card: CardV03,
  { baseUrl, tenant = "", grpc }: Reach,
): AgentCard {
  const converted = agentCardFromV03(card);
  const bindings: Record<string, string> = {
    JSONRPC: `${baseUrl}/`,
    "HTTP+JSON": baseUrl,
  };
  const { hostname, port, protocol, pathname } = new URL(baseUrl);
  // Clients of gRPC get a host and a port, which leaves no place for a path
  // prefix: with one, gRPC cannot be reached.
  if (grpc && pathname === "/") {
    bindings.GRPC = `${hostname}:${port || (protocol === "https:" ? 443 : 80)}`;
  }
  const interfaces = Object.entries(bindings).map(([protocolBinding, url]) =>
    create(AgentInterfaceSchema, {
      url,
      protocolBinding,
      protocolVersion: "1.0",
      tenant,
    }),
  );
  return {
    ...converted,
    supportedInterfaces: [...interfaces, ...converted.supportedInterfaces],
    securityRequirements: card.security.map((schemes) =>
      requirementFrom(schemes, card),
    ),
    skills: converted.skills.map((skill, index) => ({
      ...skill,
      securityRequirements: (card.skills[index]?.security ?? []).map(
        (schemes) => requirementFrom(schemes, card),
      ),
    })),
  };
}

/**
 * Returns the requirement of some security schemes together.
 *
 * Each scheme names the role that it gives, which OpenAPI 3.1 allows: without a
 * list, the SDKs would leave the scheme out of the text that the card's
 * signature covers.
 */
function requirementFrom(
  names: JsonObject,
  { securitySchemes }: CardV03,
): SecurityRequirement {
  const schemes: Record<string, { list: string[] }> = {};
  for (const name of Object.keys(names)) {
    schemes[name] = {
      list: [ROLES[securitySchemes[name]?.type ?? ""] ?? "client"],
    };
  }
  return create(SecurityRequirementSchema, { schemes });
}
