import { createHash } from "node:crypto";
import { create, type JsonObject, type JsonValue } from "@bufbuild/protobuf";
import { encodeRfcJson } from "@devtool/schema";
import {
  type AgentCard,
  AgentCardSchema,
  type AgentCardSignature,
  encodeA2aJson,
  type SecurityRequirement,
  SecurityRequirementSchema,
  type SecurityScheme,
  SecuritySchemeSchema,
} from "@devtool/schema/a2a-v1";
import { type AgentCard as CardV03, AgentCardSchema as CardV03Schema } from "@devtool/schema/a2a-v03";
import { type HttpRequest, type HttpResponse, headerOf, type Route, send } from "../route.ts";
import { isVersion1 } from "./call.ts";
import { versionOf } from "./operation.ts";

/** How the card is published. */
export interface CardRoutesOptions {
  /** The card in the form of A2A 0.3, which the other form is made of. */
  readonly card: CardV03;
  readonly baseUrl: string;
  /** Signs the card in the form of 1.0, the only one whose signatures are defined. */
  readonly sign?: (card: AgentCard) => Promise<readonly AgentCardSignature[]>;
  /** What who names no version gets: both forms in one, or the form of 1.0 alone for those who read it strictly. */
  readonly unversioned?: "hybrid" | "v1";
}

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
    securityRequirements: card.security.map(requirementOf),
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
  { description, scheme, bearerFormat, name, in: location }: Omit<CardV03["securitySchemes"][string], "type">,
): SecurityScheme | undefined {
  switch (type) {
    case "http":
      return made({ case: "httpAuthSecurityScheme", value: { description, scheme, bearerFormat } });
    case "apiKey":
      return made({ case: "apiKeySecurityScheme", value: { description, location, name } });
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

function requirementOf(schemes: JsonObject): SecurityRequirement {
  const entries = Object.entries(schemes).map(([name, scopes]): [string, { list: string[] }] => [
    name,
    { list: Array.isArray(scopes) ? scopes.filter((scope) => typeof scope === "string") : [] },
  ]);
  return create(SecurityRequirementSchema, { schemes: Object.fromEntries(entries) });
}

/**
 * The card at its well-known path and at the older one, in the form that the caller's version asks for. Who names none
 * gets both forms in one (CARD-1).
 */
export function cardRoutes(options: CardRoutesOptions): Route[] {
  let making: Promise<Variants> | undefined;
  const variants = (): Promise<Variants> => (making ??= makeVariants(options));
  return ["/.well-known/agent-card.json", "/.well-known/agent.json"].map((path) => ({
    name: `GET ${path}`,
    access: "public",
    matches: (method, requested) => (method === "GET" || method === "HEAD") && requested === path,
    handle: async (request, response) => answer(request, response, choose(await variants(), versionOf(request))),
  }));
}

interface Variant {
  readonly body: string;
  readonly etag: string;
}

interface Variants {
  readonly v1: Variant;
  readonly v03: Variant;
  readonly unversioned: Variant;
}

async function makeVariants({ card, baseUrl, sign, unversioned = "hybrid" }: CardRoutesOptions): Promise<Variants> {
  const plain = agentCardV1(card, baseUrl);
  const signatures = sign ? [...(await sign(plain))] : [];
  const v1 = variantOf(encodeA2aJson(AgentCardSchema, { ...plain, signatures }));
  const hybrid = variantOf(hybridOf(encodeRfcJson(CardV03Schema, card), encodeA2aJson(AgentCardSchema, plain)));
  return { v1, v03: hybrid, unversioned: unversioned === "v1" ? v1 : hybrid };
}

function choose({ v1, v03, unversioned }: Variants, version: string): Variant {
  if (version === "") return unversioned;
  return isVersion1(version) ? v1 : v03;
}

function variantOf(card: JsonObject): Variant {
  const body = JSON.stringify(card);
  return { body, etag: `"${createHash("sha256").update(body).digest("base64url").slice(0, 22)}"` };
}

/** Both forms in one: where both have a name for different things, an object with what each reader looks for. */
function hybridOf(v03: JsonObject, v1: JsonObject): JsonObject {
  return {
    ...v1,
    ...v03,
    capabilities: joined(v1.capabilities, v03.capabilities),
    securitySchemes: joinedEach(v1.securitySchemes, v03.securitySchemes),
  };
}

function joined(one: JsonValue | undefined, other: JsonValue | undefined): JsonObject {
  return { ...objectOf(one), ...objectOf(other) };
}

function joinedEach(one: JsonValue | undefined, other: JsonValue | undefined): JsonObject {
  const entries = Object.entries(objectOf(other)).map(([name, value]): [string, JsonValue] => [
    name,
    joined(objectOf(one)[name], value),
  ]);
  return { ...objectOf(one), ...Object.fromEntries(entries) };
}

function objectOf(value: JsonValue | undefined): JsonObject {
  return typeof value === "object" && value !== null && !Array.isArray(value) ? value : {};
}

function answer(request: HttpRequest, response: HttpResponse, { body, etag }: Variant): void {
  const caching = { etag, "cache-control": "public, max-age=60", vary: "A2A-Version" };
  const isKnown = headerOf(request, "if-none-match") === etag;
  send(response, isKnown ? 304 : 200, { body: isKnown ? "" : body, ...caching });
}
