import { describe, expect, it } from "vitest";
import { Listeners } from "./listeners.ts";

describe("the listeners of a view", () => {
  it("are notified once of all changes in a turn of the schedule", () => {
    const { listeners, turn, calls } = scheduled();
    listeners.change();
    listeners.change();
    expect(calls).toEqual([]);
    turn();
    expect(calls).toEqual(["publish", "listener"]);
    turn();
    expect(calls).toHaveLength(2);
  });

  it("are not notified again by the schedule after a flush", () => {
    const { listeners, turn, calls } = scheduled();
    listeners.change();
    listeners.flush();
    turn();
    expect(calls).toEqual(["publish", "listener"]);
    listeners.change();
    turn();
    expect(calls).toHaveLength(4);
  });

  it("are not notified after they were removed", () => {
    const { listeners, turn, calls, remove } = scheduled();
    remove();
    listeners.change();
    turn();
    expect(calls).toEqual(["publish"]);
  });
});

function scheduled(): {
  readonly listeners: Listeners;
  readonly turn: () => void;
  readonly calls: readonly string[];
  readonly remove: () => void;
} {
  const calls: string[] = [];
  const due: (() => void)[] = [];
  const listeners = new Listeners(
    (notify) => due.push(notify),
    () => calls.push("publish"),
  );
  const remove = listeners.add(() => calls.push("listener"));
  return {
    listeners,
    turn: () => due.splice(0).forEach((notify) => void notify()),
    calls,
    remove,
  };
}
