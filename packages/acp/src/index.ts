export { acpAgent } from "./agent/acp-agent.ts";
export type { AcpAgentOptions, AcpPipe } from "./agent/acp-agent-options.ts";
export { exactFetch } from "./agent/exact-fetch.ts";
export { streamPipe } from "./agent/stream-pipe.ts";
