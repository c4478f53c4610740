import { create, type JsonObject, type MessageInitShape } from "@bufbuild/protobuf";
import type { SecurityScheme as SchemeV03 } from "../gen/devtool/a2a/v1alpha/agent_card_pb.ts";
import {
  type SecurityRequirement,
  SecurityRequirementSchema,
  type SecurityScheme,
  SecuritySchemeSchema,
} from "../gen/lf/a2a/v1/a2a_pb.ts";
import { listOrEmpty, stringOrEmpty } from "../json.ts";

/**
 * Converts the security schemes of a card of A2A 0.3, by name. OAuth 2.0 is omitted: 0.3 has several flows where 1.0
 * has one.
 */
export function schemesFromV03(schemes: Readonly<Record<string, SchemeV03>>): Record<string, SecurityScheme> {
  const read = Object.entries(schemes).flatMap(([name, scheme]): [string, SecurityScheme][] => {
    const init = schemeFromV03(scheme);
    return init ? [[name, create(SecuritySchemeSchema, { scheme: init })]] : [];
  });
  return Object.fromEntries(read);
}

function schemeFromV03(scheme: SchemeV03): MessageInitShape<typeof SecuritySchemeSchema>["scheme"] {
  const { type, description } = scheme;
  switch (type) {
    case "http":
      return {
        case: "httpAuthSecurityScheme",
        value: { description, scheme: scheme.scheme, bearerFormat: scheme.bearerFormat },
      };
    case "apiKey":
      return { case: "apiKeySecurityScheme", value: { description, location: scheme.in, name: scheme.name } };
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

/** Converts a security requirement of A2A 0.3: schemes that are required together, each with its scopes. */
export function requirementFromV03(schemes: JsonObject): SecurityRequirement {
  const entries = Object.entries(schemes).map(([name, scopes]) => [
    name,
    { list: listOrEmpty(scopes).map(stringOrEmpty) },
  ]);
  return create(SecurityRequirementSchema, { schemes: Object.fromEntries(entries) });
}
