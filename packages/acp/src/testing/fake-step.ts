import * as acp from "@agentclientprotocol/sdk";
import { type Session, save } from "./fake-session.ts";

/** A line that is being done. */
export interface FakeStep {
  readonly session: Session;
  readonly client: acp.AgentContext;
  readonly signal: AbortSignal;
  readonly rest: string;
  readonly words: readonly string[];
  /** The `_meta` of the prompt. */
  readonly meta: unknown;
  /** The capabilities that the client announced. */
  readonly capabilities: acp.ClientCapabilities | undefined;
}

/**
 * The action of a word. When it returns a stop reason, the turn ends with it.
 */
export type Word = (step: FakeStep) => Promise<unknown>;

const { client: CLIENT } = acp.methods;

/** Returns a content block of text. */
export function text(value: string): acp.ContentBlock {
  return { type: "text", text: value };
}

/** Returns the content of a call that is text. */
export function content(value: string): acp.ToolCallContent {
  return { type: "content", content: text(value) };
}

/** Returns the id of the session's next call. */
export function nextCall({ session }: FakeStep): string {
  return `call-${++session.calls}`;
}

/** Sends an update, which `session/load` replays. */
export async function send(
  { session, client }: FakeStep,
  update: acp.SessionUpdate,
): Promise<void> {
  session.history.push(update);
  save(session);
  await client.notify(CLIENT.session.update, { sessionId: session.id, update });
}

/** Says what something gave, or how it failed, as JSON. */
export async function report(
  step: FakeStep,
  run: () => Promise<unknown>,
): Promise<void> {
  const result = await run().catch((reason: Error) => ({
    error: reason.message,
  }));
  await send(step, {
    sessionUpdate: "agent_message_chunk",
    content: text(JSON.stringify(result ?? {})),
  });
}

/** Waits until the turn is canceled. */
export function waitForAbort(signal: AbortSignal): Promise<void> {
  return new Promise((resolve) => {
    if (signal.aborted) return resolve();
    const held = setInterval(() => undefined, 60_000);
    signal.addEventListener("abort", () => {
      clearInterval(held);
      resolve();
    });
  });
}

/** Returns a value that is a stop reason; undefined for any other. */
export function asStopReason(value: unknown): acp.StopReason | undefined {
  const reasons = [
    "end_turn",
    "max_tokens",
    "max_turn_requests",
    "refusal",
    "cancelled",
  ] as const;
  return reasons.find((reason) => reason === value);
}
