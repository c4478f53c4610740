import { create } from "@bufbuild/protobuf";
import { EXTENSION_URI } from "@devtool/schema";
import { type AgentCard, AgentCardSchema, type AgentSkill } from "@devtool/schema/a2a-v03";
import { type SecurityOptions, securityOf, securitySchemesOf } from "../auth/security-schemes.ts";

/** What an agent says of itself. */
export interface CardOptions {
  readonly name: string;
  readonly description: string;
  readonly version: string;
  /** Whether a client must know the extension (CARD-1). */
  readonly extensionRequired: boolean;
  /** Whether it posts notifications; by default not. */
  readonly pushNotifications?: boolean;
  /** How clients may say who they are; by default with the operator's token. */
  readonly security?: SecurityOptions;
  /** The media types of what it answers with; by default those of our own agent. */
  readonly outputModes?: readonly string[];
  /** What it can do; by default what a coding agent can. */
  readonly skills?: readonly Skill[];
}

/** One thing that an agent can do. */
export type Skill = Readonly<Pick<AgentSkill, "id" | "name" | "description">> & { readonly tags: readonly string[] };

/** The card for everybody, in the form of A2A 0.3. */
export function agentCard(
  baseUrl: string,
  { name, description, version, extensionRequired, ...options }: CardOptions,
): AgentCard {
  const { pushNotifications = false, security = TOKEN_ONLY, skills = [CODING], outputModes = MODES } = options;
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
    securitySchemes: securitySchemesOf(security),
    security: securityOf(security),
    defaultInputModes: [...MODES],
    defaultOutputModes: [...outputModes],
    skills: skills.map((skill) => ({ ...skill, tags: [...skill.tags] })),
    supportsAuthenticatedExtendedCard: true,
  });
}

const MODES: readonly string[] = ["text/plain", "application/json"];

const CODING: Skill = {
  id: "code",
  name: "Work on code",
  description: "Reads, searches, writes and runs code in a workspace, and asks before it changes anything.",
  tags: ["code", "shell", "files"],
};

const TOKEN_ONLY: SecurityOptions = { certificates: false };
