// The dialect of Gemini CLI's own A2A server as a Connect transport.
export { createGeminiCliTransport, type GeminiCliTransportOptions } from "./gemini-cli/transport.ts";
