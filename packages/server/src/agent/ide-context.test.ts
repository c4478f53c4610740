import { create } from "@bufbuild/protobuf";
import { CALL_CHAIN_URI } from "@devtool/internal/call-chain-uri";
import { IdeContextSchema, MessageSchema, TaskSchema } from "@devtool/schema";
import { describe, expect, it } from "vitest";
import { tellIdeContext } from "./ide-context.ts";

const ide = {
  read: async () =>
    create(IdeContextSchema, {
      editor: "Editor",
      isWhole: true,
      files: [{ path: "/work/a.ts", isActive: true }],
    }),
};

describe("what an agent is told of the user's editor", () => {
  it.each([
    ["a message of the user", undefined, 1],
    ["what another agent asks", { [CALL_CHAIN_URI]: { agents: ["one"] } }, 0],
  ])("with %s: %#", async (_what, metadata, told) => {
    const prompt = create(MessageSchema, {
      messageId: "m",
      ...(metadata && { metadata }),
    });
    const task = create(TaskSchema, { principal: "me", history: [prompt] });
    const telling = { ide, operator: "me", told: undefined };
    const { signal } = new AbortController();
    const events = await Array.fromAsync(
      tellIdeContext(telling, { task, prompt }, signal),
    );
    expect(events).toHaveLength(told);
  });
});
