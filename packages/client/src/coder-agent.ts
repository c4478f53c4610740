// The dialect of Gemini CLI's own A2A server as a Connect transport.
export { type CoderAgentTransportOptions, createCoderAgentTransport } from "./coder-agent/transport.ts";
