import type { Operation } from "@devtool/server";
import { spanObserver } from "@devtool/server/telemetry";
import {
  type ReadableSpan,
  SimpleSpanProcessor,
  TracerProvider,
} from "@opentelemetry/sdk-trace";
import { expect, it } from "vitest";

const NOTHING = {
  ...{ name: "", binding: "", peer: "", principal: "", taskId: "t" },
  ...{ subjectId: "", contextId: "", agent: "" },
};

it("a span counts the writes to the log below it, and shows those that failed", () => {
  const ended: ReadableSpan[] = [];
  const exporter = {
    export: (spans: ReadableSpan[]) => void ended.push(...spans),
    shutdown: () => Promise.resolve(),
  };
  const observe = spanObserver({
    tracerProvider: new TracerProvider({
      spanProcessors: [new SimpleSpanProcessor({ exporter })],
    }),
  });
  const begin = (operation: Pick<Operation, "id" | "parentId" | "kind">) =>
    observe({ ...NOTHING, ...operation });
  const turn = begin({ id: "1", parentId: "", kind: "turn" });
  const append = (id: string, error?: Error): void =>
    begin({ id, parentId: "1", kind: "append" })?.(
      error ? { outcome: "failed", error } : { outcome: "succeeded" },
    );
  append("2");
  append("3", new TypeError("the secret"));
  turn?.({ outcome: "succeeded" });
  expect(ended.map(({ name }) => name)).toEqual(["invoke_agent"]);
  const [{ attributes, events } = {}] = ended;
  expect(attributes).toMatchObject({
    "devtool.append.count": 2,
    "devtool.append.duration": expect.any(Number),
  });
  expect(events).toMatchObject([
    {
      name: "devtool.task.append",
      attributes: { "error.type": "TypeError" },
    },
  ]);
});
