import { expect, it } from "vitest";
import { bothObservers } from "./both-observers.ts";

it("tells the second observer of an end at which the first one throws", () => {
  const heard: string[] = [];
  const observer = bothObservers(
    () =>
      ({ outcome }) =>
        heard.push(outcome),
    () => () => {
      throw new Error("no span");
    },
  );
  const end = observer({
    ...{ id: "1", parentId: "", kind: "turn", name: "own", binding: "" },
    ...{ peer: "", principal: "me", taskId: "t1", subjectId: "m" },
    ...{ contextId: "c", agent: "own" },
  });
  expect(() => end?.({ outcome: "succeeded" })).toThrow("no span");
  expect(heard).toEqual(["succeeded"]);
});
