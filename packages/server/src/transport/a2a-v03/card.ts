import { create, type MessageInitShape } from "@bufbuild/protobuf";
import { EXTENSION_URI } from "@devtool/schema";
import {
  type AgentCard,
  AgentCardSchema,
  type AgentSkillSchema,
} from "@devtool/schema/a2a-v03";
import type { Skill } from "../../agent/agent.ts";
import type { DialectServices } from "../dialect.ts";
import { securityOf, securitySchemesOf } from "./security-schemes.ts";

const MODES: readonly string[] = ["text/plain", "application/json"];

/** Returns the public card of an agent in the form of A2A 0.3. */
export function agentCard({
  about,
  baseUrl,
}: Pick<DialectServices, "about" | "baseUrl">): AgentCard {
  const { name, description, version, extensionRequired, security } = about;
  const { inputModes = MODES, outputModes = MODES } = about;
  const {
    extensions = [],
    follows = [],
    skills = [{ id: "agent", name, description, tags: ["agent"] }],
  } = about;
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
      pushNotifications: true,
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
