import { create } from "@bufbuild/protobuf";
import { ToolCallSchema } from "@devtool/schema";
import { describe, expect, it } from "vitest";
import { Outbox } from "./outbox.ts";

describe("Outbox", () => {
  it("refuses what a turn that has ended did not record", async () => {
    const outbox = new Outbox();
    const updates = [{ call: create(ToolCallSchema, { toolCallId: "a" }) }];
    const recorded = outbox.put(updates);
    const events = outbox.events()[Symbol.asyncIterator]();
    await events.next();
    const given = outbox.put(updates);
    await Promise.all([
      expect(recorded).rejects.toThrow("the turn has ended"),
      expect(given).rejects.toThrow("the turn has ended"),
      events.return?.(),
    ]);
    await expect(outbox.put(updates)).rejects.toThrow("the turn has ended");
  });
});
