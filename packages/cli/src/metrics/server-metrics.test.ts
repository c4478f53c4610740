import { create } from "@bufbuild/protobuf";
import { ErrorDetailsSchema } from "@devtool/schema";
import type { Operation } from "@devtool/server";
import { describe, expect, it } from "vitest";
import { ServerMetrics } from "./server-metrics.ts";

describe("the metrics of a server", () => {
  it("keep the names of tools that exist, however many names a model makes up", async () => {
    using metrics = createMetrics();
    const unknown = create(ErrorDetailsSchema, { type: "tool_not_registered" });
    const declined = create(ErrorDetailsSchema, { type: "policy_violation" });
    for (let index = 0; index < 100; index++) {
      metrics.observer(call(`invented_${index}`))?.({
        outcome: "failed",
        facts: { result: unknown },
      });
    }
    metrics.observer(call("read_file"))?.({ outcome: "succeeded" });
    metrics.observer(call("read_file"))?.({
      outcome: "failed",
      facts: { result: declined },
    });
    const read = await metrics.reader()();
    const tools = read.find(({ about }) => about.name.includes("execute_tool"));
    expect(tools?.series.map(([labels]) => labels)).toEqual([
      { "gen_ai.tool.name": "_other", "devtool.outcome": "failed" },
      { "gen_ai.tool.name": "read_file", "devtool.outcome": "succeeded" },
      { "gen_ai.tool.name": "read_file", "devtool.outcome": "failed" },
    ]);
  });

  it("say to each of its readers how late the event loop was since its own last reading", async () => {
    using metrics = createMetrics();
    const [scrape, exported] = [metrics.reader(), metrics.reader()];
    await holdUp(1000);
    expect(await delayIn(scrape)).toBeGreaterThan(0.9);
    // The scrape has taken nothing from it.
    expect(await delayIn(exported)).toBeGreaterThan(0.9);
    // A timer of Node may fire late by itself where much else runs.
    expect(await delayIn(scrape)).toBeLessThan(0.9);
  });
});

function createMetrics(): ServerMetrics {
  return new ServerMetrics({
    elapsedMs: () => 0,
  });
}

async function delayIn(read: ReturnType<ServerMetrics["reader"]>) {
  const metrics = await read();
  const delay = metrics.find(({ about }) => about.name.includes("eventloop"));
  return delay?.type === "gauge" ? delay.series[0]?.[1] : undefined;
}

/** Keeps the event loop from anything else, between two of its turns. */
async function holdUp(ms: number): Promise<void> {
  const wait = () => new Promise((resolve) => setTimeout(resolve, 50));
  await wait();
  const end = performance.now() + ms;
  while (performance.now() < end);
  await wait();
}

function call(name: string): Operation {
  return {
    id: name,
    parentId: "",
    kind: "call",
    name,
    binding: "",
    peer: "",
    principal: "",
    taskId: "",
    subjectId: "",
    contextId: "",
    agent: "",
  };
}
