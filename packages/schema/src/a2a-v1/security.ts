import { create, type JsonObject, type MessageInitShape } from "@bufbuild/protobuf";
import type { SecurityScheme as SchemeV03 } from "../gen/devtool/a2a/v1alpha/agent_card_pb.ts";
import {
  type SecurityRequirement,
  SecurityRequirementSchema,
  type SecurityScheme,
  SecuritySchemeSchema,
} from "../gen/lf/a2a/v1/a2a_pb.ts";
import { listOrEmpty, stringOrEmpty } from "../json.ts";

/** The schemes of a card of 0.3, by their names. OAuth is left out: of its flows 1.0 has one where 0.3 has several. */
export function schemesFromV03(schemes: Readonly<Record<string, SchemeV03>>): Record<string, SecurityScheme> {
  const read = Object.entries(schemes).flatMap(([name, scheme]): [string, SecurityScheme][] => {
    const init = schemeOf(scheme);
    return init ? [[name, create(SecuritySchemeSchema, { scheme: init })]] : [];
  });
  return Object.fromEntries(read);
}

function schemeOf(scheme: SchemeV03): MessageInitShape<typeof SecuritySchemeSchema>["scheme"] {
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

/** An alternative of what a caller must present: the schemes by their names, each with its scopes. */
export function requirementFromV03(schemes: JsonObject): SecurityRequirement {
  const entries = Object.entries(schemes).map(([name, scopes]) => [
    name,
    { list: listOrEmpty(scopes).map(stringOrEmpty) },
  ]);
  return create(SecurityRequirementSchema, { schemes: Object.fromEntries(entries) });
}
