/**
 * The public API of `@devtool/acp/port`: the agent behind a port as an agent of
 * the Agent Client Protocol.
 */

export type { Port, PortAgent } from "./port.ts";
export { portAgentFrom } from "./port.ts";
export { serveAcp, stdioStream } from "./serve-acp.ts";
