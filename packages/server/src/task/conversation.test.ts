import { describe, expect, it } from "vitest";
import { OpenConversations } from "./conversation.ts";

const task = { principal: "p", contextId: "c" };

describe("the conversations with open tasks (CARD-3)", () => {
  it("are shared by all tasks of a context and a principal, until the last of them is closed", () => {
    const conversations = new OpenConversations();
    const first = conversations.open(task);
    first.activateExtension();
    expect(conversations.open(task)).toBe(first);
    conversations.close(task);
    expect(conversations.open(task).extensionActive).toBe(true);
    conversations.close(task);
    conversations.close(task);
    expect(conversations.open(task).extensionActive).toBe(false);
  });

  it("differ for another context, and for another principal", () => {
    const conversations = new OpenConversations();
    conversations.open(task).activateExtension();
    expect(
      conversations.open({ ...task, contextId: "d" }).extensionActive,
    ).toBe(false);
    expect(
      conversations.open({ ...task, principal: "q" }).extensionActive,
    ).toBe(false);
  });
});
