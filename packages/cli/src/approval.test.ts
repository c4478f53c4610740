import { create } from "@bufbuild/protobuf";
import {
  ConfirmationRequestSchema,
  OPTION_PROCEED_ONCE,
  ToolCallSchema,
} from "@devtool/schema";
import { afterEach, beforeEach, describe, expect, it, vi } from "vitest";
import { FakeTerminal } from "../test/fake-terminal.ts";
import { approveByAsking } from "./approval.ts";
import { createQuestioner } from "./prompter.ts";

beforeEach(() => void vi.useFakeTimers({ toFake: ["performance"] }));
afterEach(() => void vi.useRealTimers());

describe("a question at the terminal", () => {
  it("rings where the user has answered nothing for ten seconds", async () => {
    const terminal = new FakeTerminal();
    const ask = approveByAsking(terminal.io, createQuestioner(terminal.io));
    const ringsFor = async (toolCallId: string): Promise<boolean> => {
      const options = [{ id: OPTION_PROCEED_ONCE, name: "Allow once" }];
      const call = create(ToolCallSchema, {
        toolCallId,
        confirmationRequest: create(ConfirmationRequestSchema, { options }),
      });
      const before = terminal.said.length;
      const answer = ask(
        { call, isQuestion: false },
        new AbortController().signal,
      );
      await terminal.play(["choose > ", "y\r"]);
      await answer;
      return terminal.said.slice(before).includes("\u0007");
    };
    expect(await ringsFor("at once")).toBe(false);
    vi.advanceTimersByTime(9_999);
    expect(await ringsFor("soon")).toBe(false);
    vi.advanceTimersByTime(10_000);
    expect(await ringsFor("later")).toBe(true);
  });
});
