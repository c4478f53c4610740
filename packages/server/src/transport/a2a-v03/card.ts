import { create, type MessageInitShape } from "@bufbuild/protobuf";
import { EXTENSION_URI } from "@devtool/schema";
import {
  type AgentCard,
  AgentCardSchema,
  type AgentSkillSchema,
} from "@devtool/schema/a2a-v03";
import type { CardExtension, Skill } from "../../agent/agent.ts";
import {
  type SecurityOptions,
  securityOf,
  securitySchemesOf,
} from "../auth/security-schemes.ts";

/** The description of an agent, from which its card is made. */
export interface CardOptions {
  readonly name: string;

  readonly description: string;

  readonly version: string;

  /** Whether clients must use the extension (CARD-1). */
  readonly extensionRequired: boolean;

  /** Whether the server posts notifications. Default: false. */
  readonly pushNotifications?: boolean;

  /**
   * The ways in which clients can authenticate. Default: the operator's token.
   */
  readonly security?: SecurityOptions;

  /** The media types that the agent accepts. Default: text and JSON. */
  readonly inputModes?: readonly string[] | undefined;

  /** The media types of the agent's answers. Default: text and JSON. */
  readonly outputModes?: readonly string[] | undefined;

  /** Default: one skill with the name and the description of the agent. */
  readonly skills?: readonly Skill[] | undefined;

  /**
   * The settings of clients that the agent follows (`Agent.follows`). Default:
   * none.
   */
  readonly follows?: readonly string[] | undefined;

  /** Further extensions that clients may use. Default: none. */
  readonly extensions?: readonly CardExtension[] | undefined;
}

const MODES: readonly string[] = ["text/plain", "application/json"];
const TOKEN_ONLY: SecurityOptions = { certificates: false };

/** Returns the public card of an agent in the form of A2A 0.3. */
export function agentCard(baseUrl: string, options: CardOptions): AgentCard {
  const {
    name,
    description,
    version,
    extensionRequired,
    pushNotifications = false,
  } = options;
  const {
    security = TOKEN_ONLY,
    inputModes = MODES,
    outputModes = MODES,
  } = options;
  const {
    extensions = [],
    follows = [],
    skills = [{ id: "agent", name, description, tags: ["agent"] }],
  } = options;
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
          description:
            "Streams thoughts and tool calls, asks before a tool runs, runs slash commands.",
          required: extensionRequired,
          params: { follows: [...follows] },
        },
        ...extensions.map(({ uri, description }) => ({
          uri,
          description,
          required: false,
        })),
      ],
    },
    securitySchemes: securitySchemesOf(security),
    security: securityOf(security),
    defaultInputModes: [...inputModes],
    defaultOutputModes: [...outputModes],
    skills: skills.map(skillInit),
    supportsAuthenticatedExtendedCard: true,
  });
}

function skillInit(skill: Skill): MessageInitShape<typeof AgentSkillSchema> {
  const {
    id,
    name,
    description,
    tags,
    examples = [],
    inputModes = [],
    outputModes = [],
    security = [],
  } = skill;
  return {
    ...{ id, name, description },
    tags: [...tags],
    examples: [...examples],
    inputModes: [...inputModes],
    outputModes: [...outputModes],
    security: security.map((schemes) =>
      Object.fromEntries(schemes.map((scheme) => [scheme, []])),
    ),
  };
}
