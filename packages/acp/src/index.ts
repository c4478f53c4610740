export { acpAgent } from "./agent/acp-agent.ts";
export { exactFetch } from "./agent/exact-fetch.ts";
export { streamPipe } from "./agent/stream-pipe.ts";
