import { describe, expect, it } from "vitest";
import { CallBook } from "./call-book.ts";
import { ItemStream } from "./item-stream.ts";

describe("the items of Codex", () => {
  it("F8: of a type that is new are left out, and the user is told once", async () => {
    const calls = new CallBook();
    const items = new ItemStream({
      calls,
      threadId: "t",
      workspace: "/w",
      begin: () => [],
    });
    const types = ["hologram", "userMessage", "hologram", "reasoning"];
    const events = [];
    for (const type of types) {
      const params = { threadId: "t", item: { type, id: type } };
      events.push(...(await items.receive("item/started", params)));
      events.push(...(await items.receive("item/completed", params)));
    }
    expect(events).toMatchObject([
      {
        case: "notice",
        value: {
          text: 'Codex did something of the type "hologram", which cannot be shown: it is left out.',
        },
      },
    ]);
  });
});
