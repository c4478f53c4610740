import { create } from "@bufbuild/protobuf";
import { TaskEventSchema } from "@devtool/schema";
import { expect, it } from "vitest";
import { SnapshotFold } from "./task-snapshot.ts";

it("shows a piece of text once, also if it comes again before the view is read", () => {
  const fold = new SnapshotFold(() => undefined);
  for (const sequence of [1n, 2n, 3n, 3n]) {
    const payload = { case: "text", value: { text: `${sequence}` } } as const;
    fold.add(create(TaskEventSchema, { taskId: "task-1", sequence, payload }));
  }
  expect(fold.take().items.map(({ part }) => part.content.value)).toEqual([
    "123",
  ]);
});
