import { create } from "@bufbuild/protobuf";
import { type Message, MessageSchema, Role } from "@devtool/schema";
import { type AgentEvent, Code, DevtoolError } from "@devtool/server/agent";
import { describe, expect, it } from "vitest";
import { HistoryCompressor } from "./history-compressor.ts";

describe("a failed summary", () => {
  it("gives the user a notice, and the operator the details of an internal error", async () => {
    const { words, notices } = await failWith(new TypeError("secret"));
    expect(words).toContain(
      "could not be summarized: internal error: the server's log says more",
    );
    expect(notices).toEqual([
      expect.stringMatching(
        /^a summary failed inside the server: \{"task":"t1","error":"TypeError","at":/,
      ),
    ]);
    expect(notices.join()).not.toContain("secret");
  });

  it("gives the operator nothing when the error says why", async () => {
    const { words, notices } = await failWith(
      new DevtoolError("the quota is used up", Code.ResourceExhausted),
    );
    expect(words).toContain("could not be summarized: the quota is used up");
    expect(notices).toEqual([]);
  });
});

async function failWith(
  reason: Error,
): Promise<{ readonly words: string; readonly notices: readonly string[] }> {
  const notices: string[] = [];
  const model = {
    name: "broken",
    async *generate() {
      yield* [];
      throw reason;
    },
  };
  const compressor = new HistoryCompressor(model, "t1", (text) =>
    notices.push(text),
  );
  const history = [
    say(Role.USER, "one"),
    say(Role.AGENT, "two"),
    say(Role.USER, "three"),
  ];
  const request = {
    workspacePath: "/w",
    model: "",
    history,
    tools: [],
    instructions: async () => "",
    beginStep: () => () => undefined,
    traceContext: () => undefined,
  };
  const events: AgentEvent[] = await Array.fromAsync(
    compressor.compress(request, new AbortController().signal),
  );
  return { words: JSON.stringify(events), notices };
}

function say(role: Role, value: string): Message {
  return create(MessageSchema, {
    messageId: value,
    role,
    parts: [{ content: { case: "text", value } }],
  });
}
