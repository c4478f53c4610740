import {
  create,
  type JsonObject,
  type MessageInitShape,
} from "@bufbuild/protobuf";
import {
  canonicalJson,
  listOrEmpty,
  stringOrEmpty,
} from "@devtool/internal/json";
import type {
  AgentCard as CardV03,
  SecurityScheme as SchemeV03,
} from "../gen/devtool/a2a/v1alpha/agent_card_pb.ts";
import {
  type AgentCard,
  AgentCardSchema,
  type AgentInterfaceSchema,
  type SecurityRequirement,
  SecurityRequirementSchema,
  type SecurityScheme,
  SecuritySchemeSchema,
} from "../gen/lf/a2a/v1/a2a_pb.ts";
import { keyPath, mistyped } from "../wire-error.ts";

/**
 * Converts an agent card of A2A 0.3 to one of 1.0, so that clients handle a
 * single form. Throws a `WireError` for a security requirement whose scopes are
 * not a list of strings.
 */
export function agentCardFromV03(card: CardV03): AgentCard {
  const {
    name,
    description,
    version,
    capabilities,
    skills,
    defaultInputModes,
    defaultOutputModes,
  } = card;
  const { provider, documentationUrl } = card;
  return create(AgentCardSchema, {
    name,
    description,
    version,
    supportedInterfaces: interfacesOf(card),
    provider: provider && {
      url: provider.url,
      organization: provider.organization,
    },
    documentationUrl: documentationUrl || undefined,
    capabilities: {
      streaming: capabilities?.streaming ?? false,
      pushNotifications: capabilities?.pushNotifications ?? false,
      extendedAgentCard: card.supportsAuthenticatedExtendedCard ?? false,
      extensions: (capabilities?.extensions ?? []).map(
        ({ uri, description: what, required, params }) => ({
          uri,
          description: what,
          required: required ?? false,
          params,
        }),
      ),
    },
    securitySchemes: schemesFromV03(card.securitySchemes),
    securityRequirements: card.security.map((each, index) =>
      requirementFromV03(each, `security[${index}]`),
    ),
    defaultInputModes,
    defaultOutputModes,
    skills: skills.map(
      (
        { id, name: title, description: what, tags, examples, ...skill },
        at,
      ) => ({
        id,
        name: title,
        description: what,
        tags,
        examples,
        inputModes: skill.inputModes,
        outputModes: skill.outputModes,
        securityRequirements: skill.security.map((each, index) =>
          requirementFromV03(each, `skills[${at}].security[${index}]`),
        ),
      }),
    ),
  });
}

/**
 * Lists the interfaces of an agent, the preferred one first. The default
 * transport is JSON-RPC (section 5.6).
 */
function interfacesOf(
  card: CardV03,
): MessageInitShape<typeof AgentInterfaceSchema>[] {
  const preferred = {
    url: card.url,
    transport: card.preferredTransport || "JSONRPC",
  };
  const others = card.additionalInterfaces.filter(
    ({ url, transport }) =>
      url !== preferred.url || transport !== preferred.transport,
  );
  return [preferred, ...others].map(({ url, transport }) => ({
    url,
    protocolBinding: transport,
    protocolVersion: "0.3",
  }));
}

/**
 * Converts the security schemes of a card of A2A 0.3, by name. OAuth 2.0 is
 * omitted: 0.3 has several flows where 1.0 has one.
 */
function schemesFromV03(
  schemes: Readonly<Record<string, SchemeV03>>,
): Record<string, SecurityScheme> {
  const read = Object.entries(schemes).flatMap(
    ([name, scheme]): [string, SecurityScheme][] => {
      const init = schemeFromV03(scheme);
      return init
        ? [[name, create(SecuritySchemeSchema, { scheme: init })]]
        : [];
    },
  );
  return Object.fromEntries(read);
}

function schemeFromV03(
  scheme: SchemeV03,
): MessageInitShape<typeof SecuritySchemeSchema>["scheme"] {
  const { type, description } = scheme;
  switch (type) {
    case "http":
      return {
        case: "httpAuthSecurityScheme",
        value: {
          description,
          scheme: scheme.scheme,
          bearerFormat: scheme.bearerFormat,
        },
      };
    case "apiKey":
      return {
        case: "apiKeySecurityScheme",
        value: { description, location: scheme.in, name: scheme.name },
      };
    case "openIdConnect":
      return {
        case: "openIdConnectSecurityScheme",
        value: { description, openIdConnectUrl: scheme.openIdConnectUrl },
      };
    case "mutualTLS":
      return { case: "mtlsSecurityScheme", value: { description } };
    default:
      return undefined;
  }
}

/**
 * Converts a security requirement of A2A 0.3: schemes that are required
 * together, each with its scopes.
 */
function requirementFromV03(
  schemes: JsonObject,
  path: string,
): SecurityRequirement {
  const entries = Object.entries(schemes).map(([name, scopes]) => {
    const list = listOrEmpty(scopes).map(stringOrEmpty);
    if (canonicalJson(list) !== canonicalJson(scopes)) {
      throw mistyped(keyPath(path, name), scopes, "a list of strings");
    }
    return [name, { list }];
  });
  return create(SecurityRequirementSchema, {
    schemes: Object.fromEntries(entries),
  });
}
