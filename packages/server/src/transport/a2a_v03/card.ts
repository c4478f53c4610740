import { createHash } from "node:crypto";
import { create } from "@bufbuild/protobuf";
import { EXTENSION_URI, encodeRfcJson } from "@devtool/schema";
import { type AgentCard, AgentCardSchema } from "@devtool/schema/a2a-v03";
import { type HttpRequest, type HttpResponse, headerOf, type Route, send } from "../route.ts";

/** What an agent says of itself. */
export interface CardOptions {
  readonly name: string;
  readonly description: string;
  readonly version: string;
  /** Whether a client must know the extension (CARD-1). */
  readonly extensionRequired: boolean;
  /** Whether it posts notifications; by default not. */
  readonly pushNotifications?: boolean;
}

/** The agent card at its well-known path and at the older one (CARD-1). */
export function cardRoutes(baseUrl: string, options: CardOptions): Route[] {
  const body = JSON.stringify(encodeRfcJson(AgentCardSchema, agentCard(baseUrl, options)));
  const etag = `"${createHash("sha256").update(body).digest("base64url").slice(0, 22)}"`;
  return ["/.well-known/agent-card.json", "/.well-known/agent.json"].map((path) => ({
    name: `GET ${path}`,
    access: "public",
    matches: (method, requested) => (method === "GET" || method === "HEAD") && requested === path,
    handle: (request, response) => answer(request, response, { body, etag }),
  }));
}

function answer(
  request: HttpRequest,
  response: HttpResponse,
  { body, etag }: { readonly body: string; readonly etag: string },
): void {
  const caching = { etag, "cache-control": "public, max-age=60", vary: "A2A-Version" };
  const known = headerOf(request, "if-none-match") === etag;
  send(response, known ? 304 : 200, { body: known ? "" : body, ...caching });
}

/** The card for everybody, in the form of A2A 0.3. */
export function agentCard(
  baseUrl: string,
  { name, description, version, extensionRequired, pushNotifications = false }: CardOptions,
): AgentCard {
  return create(AgentCardSchema, {
    protocolVersion: "0.3.0",
    name,
    description,
    url: `${baseUrl}/`,
    preferredTransport: "JSONRPC",
    additionalInterfaces: [
      { url: `${baseUrl}/`, transport: "JSONRPC" },
      { url: baseUrl, transport: "HTTP+JSON" },
    ],
    version,
    capabilities: {
      streaming: true,
      pushNotifications,
      stateTransitionHistory: false,
      extensions: [
        {
          uri: EXTENSION_URI,
          description: "Streams thoughts and tool calls, asks before a tool runs, runs slash commands.",
          required: extensionRequired,
        },
      ],
    },
    securitySchemes: { bearer: { type: "http", scheme: "bearer" } },
    security: [{ bearer: [] }],
    defaultInputModes: ["text/plain", "application/json"],
    defaultOutputModes: ["text/plain", "application/json"],
    skills: [
      {
        id: "code",
        name: "Work on code",
        description: "Reads, searches, writes and runs code in a workspace, and asks before it changes anything.",
        tags: ["code", "shell", "files"],
      },
    ],
    supportsAuthenticatedExtendedCard: true,
  });
}
