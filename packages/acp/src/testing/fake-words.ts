import * as acp from "@agentclientprotocol/sdk";
import { REQUESTS } from "./fake-requests.ts";
import {
  asStopReason,
  content,
  nextCall,
  send,
  text,
  type Word,
  waitForAbort,
} from "./fake-step.ts";

const { client: CLIENT } = acp.methods;

/** The action of each word. */
export const WORDS: Readonly<Record<string, Word>> = {
  ...REQUESTS,
  say: (step) =>
    send(step, {
      sessionUpdate: "agent_message_chunk",
      content: text(step.rest),
    }),
  think: (step) =>
    send(step, {
      sessionUpdate: "agent_thought_chunk",
      content: text(step.rest.replace("|", "\n")),
    }),
  show: (step) =>
    send(step, {
      sessionUpdate: "agent_message_chunk",
      content: JSON.parse(step.rest),
    }),
  /** Any update, as JSON. */
  update: (step) =>
    step.client.notify(CLIENT.session.update, {
      sessionId: step.session.id,
      update: JSON.parse(step.rest),
    }),
  tool: async (step) => {
    const toolCallId = nextCall(step);
    await send(step, {
      sessionUpdate: "tool_call",
      toolCallId,
      title: step.rest,
      kind: "read",
      status: "pending",
      rawInput: {},
    });
    await send(step, {
      sessionUpdate: "tool_call_update",
      toolCallId,
      rawInput: { name: step.rest },
    });
    await send(step, {
      sessionUpdate: "tool_call_update",
      toolCallId,
      status: "in_progress",
      content: [content("half")],
    });
    await send(step, {
      sessionUpdate: "tool_call_update",
      toolCallId,
      status: "completed",
      content: [content(`${step.rest} done`)],
    });
  },
  /** A call that runs until the turn is canceled. */
  work: async (step) => {
    const toolCallId = nextCall(step);
    await send(step, {
      sessionUpdate: "tool_call",
      toolCallId,
      title: "work",
      kind: "execute",
      status: "in_progress",
      content: [content("working")],
    });
    await waitForAbort(step.signal);
    await send(step, {
      sessionUpdate: "tool_call_update",
      toolCallId,
      status: "failed",
    });
  },
  /**
   * Says what the client is, what the session has, or which variables are in
   * the environment.
   */
  tell: async (step) => {
    const { session, capabilities } = step;
    const { mode, speed, mcpServers, cwd } = session;
    const facts = {
      capabilities,
      session: { mode, speed, mcpServers, cwd },
      options: session.options ?? {},
      environment: Object.keys(process.env).sort(),
    };
    await send(step, {
      sessionUpdate: "agent_message_chunk",
      content: text(JSON.stringify(facts)),
    });
  },
  /** Says in which trace the prompt is. */
  meta: (step) =>
    send(step, {
      sessionUpdate: "agent_message_chunk",
      content: text(JSON.stringify(step.meta)),
    }),
  /**
   * Says which process this is, and what it has been told to `remember` in the
   * session.
   */
  recall: async (step) => {
    const told = step.session.history.flatMap(({ sessionUpdate, ...update }) =>
      sessionUpdate === "user_message_chunk" && "content" in update
        ? [JSON.stringify(update.content)]
        : [],
    );
    const known = told.flatMap(
      (chunk) => /remember (\w+)/.exec(chunk)?.[1] ?? [],
    );
    const facts = JSON.stringify({
      process: process.pid,
      session: step.session.id,
      known,
    });
    await send(step, {
      sessionUpdate: "agent_message_chunk",
      content: text(facts),
    });
  },
  remember: async () => undefined,
  stop: async (step) => asStopReason(step.rest),
  fail: async (step) => {
    throw new acp.RequestError(
      Number(step.words[0] ?? -32603),
      step.words.slice(1).join(" ") || "failed",
    );
  },
  wait: (step) => waitForAbort(step.signal),
  hang: () => new Promise(() => undefined),
  die: async (step) => process.exit(Number(step.words[0] ?? 1)),
  flood: async (step) => {
    const line = JSON.stringify({
      jsonrpc: "2.0",
      method: CLIENT.session.update,
      params: {
        sessionId: step.session.id,
        update: { sessionUpdate: "agent_message_chunk", content: text("x") },
      },
    });
    process.stdout.write(`${line}\n`.repeat(Number(step.words[0])));
  },
  /** One line of this many bytes. */
  long: async (step) => {
    process.stdout.write(`"${"x".repeat(Number(step.words[0]))}"\n`);
  },
  /** Prints the rest of the line on standard output, as it is. */
  print: async (step) => {
    process.stdout.write(`${step.rest}\n`);
  },
  complain: async (step) => {
    process.stderr.write(`${step.rest}\n`);
  },
};
