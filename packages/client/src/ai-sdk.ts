/**
 * The public API of `@devtool/client/ai-sdk`: chats of Vercel's AI SDK
 * (`useChat`) with an agent.
 */
export { createChatTransport } from "./ai-sdk/chat-transport.ts";
export type { AgentUIMessage } from "./ai-sdk/ui-message.ts";
