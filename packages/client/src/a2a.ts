// A2A 0.3 as a Connect transport.
export { type AgentCardOptions, fetchAgentCard } from "./a2a/agent-card.ts";
export type { A2aTransportOptions } from "./a2a/json-rpc-endpoint.ts";
export { createA2aTransport } from "./a2a/transport.ts";
