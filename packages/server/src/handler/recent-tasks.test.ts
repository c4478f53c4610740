import { expect, it } from "vitest";
import { RecentTasks } from "./recent-tasks.ts";

it("keeps as many tasks as it may, and forgets the one that has not changed for longest", () => {
  const recent = new RecentTasks<number>(2);
  expect(recent.note("a", 1)).toBeUndefined();
  expect(recent.note("b", 2)).toBeUndefined();
  expect(recent.note("a", 3)).toBeUndefined();
  expect(recent.note("c", 4)).toBe(2);
  expect(["a", "b", "c"].map((id) => recent.get(id))).toEqual([
    3,
    undefined,
    4,
  ]);
});
