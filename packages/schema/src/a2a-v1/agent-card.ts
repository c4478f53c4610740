import { create, type MessageInitShape } from "@bufbuild/protobuf";
import type { AgentCard as CardV03 } from "../gen/devtool/a2a/v1alpha/agent_card_pb.ts";
import { type AgentCard, AgentCardSchema, type AgentInterfaceSchema } from "../gen/lf/a2a/v1/a2a_pb.ts";
import { requirementFromV03, schemesFromV03 } from "./security.ts";

/** Converts an agent card of A2A 0.3 to one of 1.0, so that clients handle a single form. */
export function agentCardFromV03(card: CardV03): AgentCard {
  const { name, description, version, capabilities, skills, defaultInputModes, defaultOutputModes } = card;
  const { provider, documentationUrl } = card;
  return create(AgentCardSchema, {
    name,
    description,
    version,
    supportedInterfaces: interfacesOf(card),
    provider: provider && { url: provider.url, organization: provider.organization },
    documentationUrl: documentationUrl || undefined,
    capabilities: {
      streaming: capabilities?.streaming ?? false,
      pushNotifications: capabilities?.pushNotifications ?? false,
      extendedAgentCard: card.supportsAuthenticatedExtendedCard ?? false,
      extensions: (capabilities?.extensions ?? []).map(({ uri, description: what, required, params }) => ({
        uri,
        description: what,
        required: required ?? false,
        params,
      })),
    },
    securitySchemes: schemesFromV03(card.securitySchemes),
    securityRequirements: card.security.map(requirementFromV03),
    defaultInputModes,
    defaultOutputModes,
    skills: skills.map(({ id, name: title, description: what, tags, examples, ...skill }) => ({
      id,
      name: title,
      description: what,
      tags,
      examples,
      inputModes: skill.inputModes,
      outputModes: skill.outputModes,
      securityRequirements: skill.security.map(requirementFromV03),
    })),
  });
}

/** Lists the interfaces of an agent, the preferred one first. The default transport is JSON-RPC (section 5.6). */
function interfacesOf(card: CardV03): MessageInitShape<typeof AgentInterfaceSchema>[] {
  const preferred = { url: card.url, transport: card.preferredTransport || "JSONRPC" };
  const others = card.additionalInterfaces.filter(
    ({ url, transport }) => url !== preferred.url || transport !== preferred.transport,
  );
  return [preferred, ...others].map(({ url, transport }) => ({
    url,
    protocolBinding: transport,
    protocolVersion: "0.3",
  }));
}
