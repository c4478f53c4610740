import { create } from "@bufbuild/protobuf";
import { type Message, MessageSchema, Role } from "@devtool/schema";
import { type AgentEvent, Code, DevtoolError } from "@devtool/server/agent";
import { describe, expect, it } from "vitest";
import { HistoryRoom } from "./history-room.ts";

describe("a history that could not be summarized", () => {
  it("is a notice for the user, and a line for the operator where the user is told only that the log says more", async () => {
    const { words, told } = await failWith(new TypeError("secret"));
    expect(words).toContain("could not be summarized: internal error: the server's log says more");
    expect(told).toEqual([
      expect.stringMatching(/^a summary failed inside the server: \{"task":"t1","error":"TypeError","at":/),
    ]);
    expect(told.join()).not.toContain("secret");
  });

  it("is not reported to the operator when the model said why", async () => {
    const { words, told } = await failWith(new DevtoolError("the quota is used up", Code.ResourceExhausted));
    expect(words).toContain("could not be summarized: the quota is used up");
    expect(told).toEqual([]);
  });
});

async function failWith(reason: Error): Promise<{ readonly words: string; readonly told: readonly string[] }> {
  const told: string[] = [];
  const model = {
    name: "broken",
    async *generate() {
      yield* [];
      throw reason;
    },
  };
  const room = new HistoryRoom(model, { task: "t1", onNotice: (text) => told.push(text) });
  const history = [say(Role.USER, "one"), say(Role.AGENT, "two"), say(Role.USER, "three")];
  const request = { workspacePath: "/w", model: "", history, tools: [], instructions: async () => "" };
  const events: AgentEvent[] = await Array.fromAsync(room.make(request, new AbortController().signal));
  return { words: JSON.stringify(events), told };
}

function say(role: Role, value: string): Message {
  return create(MessageSchema, { messageId: value, role, parts: [{ content: { case: "text", value } }] });
}
