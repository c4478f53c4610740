// A2A, in its versions 1.0 and 0.3, as a Connect transport.
export { type AgentCardOptions, fetchAgentCard } from "./a2a/agent-card.ts";
export { type AgentTransportOptions, createAgentTransport } from "./a2a/agent-transport.ts";
export type { EndpointOptions } from "./a2a/endpoint.ts";
export { type A2aTransportOptions, createA2aTransport } from "./a2a/transport.ts";
