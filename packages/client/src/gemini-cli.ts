/**
 * The public API of `@devtool/client/gemini-cli`: a Connect transport for
 * Gemini CLI's own A2A server.
 */
export { createGeminiCliTransport } from "./gemini-cli/transport.ts";
