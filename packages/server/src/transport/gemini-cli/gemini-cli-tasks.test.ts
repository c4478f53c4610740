import { describe, expect, it } from "vitest";
import { GeminiCliTasks } from "./gemini-cli-tasks.ts";

describe("tasks promised by POST /tasks", () => {
  it("are kept when another principal promises many (S12)", () => {
    const tasks = new GeminiCliTasks(() => crypto.randomUUID());
    const alices = tasks.promise({
      principal: "alice",
      contextId: "",
      settings: undefined,
    });
    for (let count = 0; count < 20_000; count++) promiseTo(tasks, "bob");
    expect(tasks.findPromised(alices.id, "alice")).toEqual(alices);
    expect(tasks.promisedTo("bob")).toHaveLength(100);
  });

  it("are limited to the newest 100 of a principal", () => {
    const tasks = new GeminiCliTasks(() => crypto.randomUUID());
    const promised = Array.from({ length: 101 }, () => promiseTo(tasks, "bob"));
    expect(tasks.promisedTo("bob")).toEqual(promised.slice(1));
  });
});

function promiseTo(tasks: GeminiCliTasks, principal: string) {
  return tasks.promise({ principal, contextId: "", settings: undefined });
}
