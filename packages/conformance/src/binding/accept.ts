/** The type of content that a client accepts for the answer to a method, by its name in JSON-RPC of either version of A2A. */
export function acceptOf(method: string): string {
  return STREAMING.has(method) ? "text/event-stream" : "application/json";
}

const STREAMING: ReadonlySet<string> = new Set([
  "message/stream",
  "tasks/resubscribe",
  "SendStreamingMessage",
  "SubscribeToTask",
]);
