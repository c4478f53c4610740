import { create, type JsonObject } from "@bufbuild/protobuf";
import {
  type AgentCard,
  type AgentInterface,
  AgentInterfaceSchema,
  agentCardFromV03,
  type SecurityRequirement,
  SecurityRequirementSchema,
} from "@devtool/schema/a2a-v1";
import type { AgentCard as CardV03 } from "@devtool/schema/a2a-v03";

/** The card in the form of A2A 1.0: what the other form says, and where each binding of both versions is. With a tenant, that of 1.0 is called for. */
export function agentCardV1(card: CardV03, baseUrl: string, tenant = ""): AgentCard {
  const read = agentCardFromV03(card);
  return {
    ...read,
    supportedInterfaces: [...interfacesAt(baseUrl, tenant), ...read.supportedInterfaces],
    securityRequirements: card.security.map((schemes) => requirementOf(schemes, card)),
    skills: read.skills.map((skill, index) => ({
      ...skill,
      securityRequirements: (card.skills[index]?.security ?? []).map((schemes) => requirementOf(schemes, card)),
    })),
  };
}

/** The bindings of 1.0, which are preferred. */
function interfacesAt(baseUrl: string, tenant: string): AgentInterface[] {
  const bindings = { JSONRPC: `${baseUrl}/`, "HTTP+JSON": baseUrl, ...grpcAt(new URL(baseUrl)) };
  return Object.entries(bindings).map(([protocolBinding, url]) =>
    create(AgentInterfaceSchema, { url, protocolBinding, protocolVersion: "1.0", tenant }),
  );
}

/** Clients of gRPC are given a host and a port. They have no place for a prefix of a path, so there is none of gRPC then. */
function grpcAt({ hostname, port, protocol, pathname }: URL): { readonly GRPC?: string } {
  if (pathname !== "/") return {};
  return { GRPC: `${hostname}:${port || (protocol === "https:" ? 443 : 80)}` };
}

/**
 * Each scheme names the role that it gives (OpenAPI 3.1 allows that), because the SDKs leave empty lists out of what a
 * signature is over, and with them everything that would be left empty.
 */
function requirementOf(schemes: JsonObject, { securitySchemes }: CardV03): SecurityRequirement {
  const entries = Object.keys(schemes).map((name): [string, { list: string[] }] => [
    name,
    { list: [ROLES[securitySchemes[name]?.type ?? ""] ?? "client"] },
  ]);
  return create(SecurityRequirementSchema, { schemes: Object.fromEntries(entries) });
}

const ROLES: Readonly<Record<string, string>> = { http: "operator", openIdConnect: "openid", mutualTLS: "client" };
