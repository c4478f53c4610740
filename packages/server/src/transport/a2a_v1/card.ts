import { create, type JsonObject } from "@bufbuild/protobuf";
import {
  type AgentCard,
  AgentCardSchema,
  type SecurityRequirement,
  SecurityRequirementSchema,
  type SecurityScheme,
  SecuritySchemeSchema,
} from "@devtool/schema/a2a-v1";
import type { AgentCard as CardV03 } from "@devtool/schema/a2a-v03";

/** The card in the form of A2A 1.0: what the other form says, and where each binding of both versions is. */
export function agentCardV1(card: CardV03, baseUrl: string): AgentCard {
  const { name, description, version, capabilities, skills, defaultInputModes, defaultOutputModes } = card;
  const extended = card.supportsAuthenticatedExtendedCard;
  return create(AgentCardSchema, {
    name,
    description,
    version,
    supportedInterfaces: interfacesOf(card, baseUrl),
    ...(card.provider && { provider: { url: card.provider.url, organization: card.provider.organization } }),
    ...(card.documentationUrl !== "" && { documentationUrl: card.documentationUrl }),
    capabilities: {
      streaming: capabilities?.streaming ?? false,
      pushNotifications: capabilities?.pushNotifications ?? false,
      extendedAgentCard: extended ?? false,
      extensions: (capabilities?.extensions ?? []).map(({ uri, description: what, required, params }) => ({
        uri,
        description: what,
        required: required ?? false,
        ...(params && { params }),
      })),
    },
    securitySchemes: Object.fromEntries(
      Object.entries(card.securitySchemes).flatMap(([scheme, { type, ...rest }]) => {
        const made = schemeOf(type, rest);
        return made ? [[scheme, made]] : [];
      }),
    ),
    securityRequirements: card.security.map((schemes) => requirementOf(schemes, card)),
    defaultInputModes,
    defaultOutputModes,
    skills: skills.map(({ id, name: title, description: what, tags, examples }) => ({
      id,
      name: title,
      description: what,
      tags,
      examples,
    })),
  });
}

/** The bindings of 1.0 first, as they are preferred; then where 0.3 is. */
function interfacesOf(
  card: CardV03,
  baseUrl: string,
): { url: string; protocolBinding: string; protocolVersion: string }[] {
  const { host } = new URL(baseUrl);
  const older = card.additionalInterfaces.map(({ url, transport }) => ({
    url,
    protocolBinding: transport,
    protocolVersion: "0.3",
  }));
  return [
    { url: `${baseUrl}/`, protocolBinding: "JSONRPC", protocolVersion: "1.0" },
    { url: baseUrl, protocolBinding: "HTTP+JSON", protocolVersion: "1.0" },
    { url: host, protocolBinding: "GRPC", protocolVersion: "1.0" },
    ...older,
  ];
}

function schemeOf(
  type: string,
  {
    description,
    scheme,
    bearerFormat,
    name,
    in: location,
    openIdConnectUrl,
  }: Omit<CardV03["securitySchemes"][string], "type">,
): SecurityScheme | undefined {
  switch (type) {
    case "http":
      return made({ case: "httpAuthSecurityScheme", value: { description, scheme, bearerFormat } });
    case "apiKey":
      return made({ case: "apiKeySecurityScheme", value: { description, location, name } });
    case "openIdConnect":
      return made({ case: "openIdConnectSecurityScheme", value: { description, openIdConnectUrl } });
    case "mutualTLS":
      return made({ case: "mtlsSecurityScheme", value: { description } });
    default:
      return undefined;
  }
}

function made(
  scheme: NonNullable<Parameters<typeof create<typeof SecuritySchemeSchema>>[1]>["scheme"],
): SecurityScheme {
  return create(SecuritySchemeSchema, scheme && { scheme });
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
