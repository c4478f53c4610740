/**
 * The public API of `@devtool/client/a2a`: Connect transports that speak A2A
 * 1.0 and 0.3.
 *
 * `fetchAgentCard` with `createAgentTransport` connects to an agent by its
 * card; `createA2aTransport` connects to an interface whose version and binding
 * are known.
 */
export { fetchAgentCard } from "./a2a/agent-card.ts";
export { createA2aTransport } from "./a2a-transport.ts";
export { createAgentTransport } from "./agent-transport.ts";
