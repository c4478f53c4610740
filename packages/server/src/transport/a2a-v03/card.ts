import { create } from "@bufbuild/protobuf";
import { EXTENSION_URI } from "@devtool/schema";
import { type AgentCard, AgentCardSchema } from "@devtool/schema/a2a-v03";
import type { Skill } from "../../agent/agent.ts";
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
  /** The media types of what it takes; by default text and JSON. */
  readonly inputModes?: readonly string[];
  /** The media types of what it answers with; by default text and JSON. */
  readonly outputModes?: readonly string[];
  /** What it can do; by default one skill, with the name and the description of the agent. */
  readonly skills?: readonly Skill[];
}

/** The card for everybody, in the form of A2A 0.3. */
export function agentCard(
  baseUrl: string,
  { name, description, version, extensionRequired, ...options }: CardOptions,
): AgentCard {
  const { pushNotifications = false, security = TOKEN_ONLY, inputModes = MODES, outputModes = MODES } = options;
  const { skills = [{ id: "agent", name, description, tags: ["agent"] }] } = options;
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
    defaultInputModes: [...inputModes],
    defaultOutputModes: [...outputModes],
    skills: skills.map(skillOf),
    supportsAuthenticatedExtendedCard: true,
  });
}

function skillOf({ tags, examples = [], inputModes = [], outputModes = [], security: schemes = [], ...said }: Skill) {
  const security = schemes.map((names) => Object.fromEntries(names.map((name) => [name, []])));
  return {
    ...said,
    tags: [...tags],
    examples: [...examples],
    inputModes: [...inputModes],
    outputModes: [...outputModes],
    security,
  };
}

const MODES: readonly string[] = ["text/plain", "application/json"];

const TOKEN_ONLY: SecurityOptions = { certificates: false };
