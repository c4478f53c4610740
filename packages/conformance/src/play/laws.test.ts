import type { JsonValue } from "@bufbuild/protobuf";
import { describe, expect, it } from "vitest";
import type { Exchange } from "../binding/binding.ts";
import { lawBreaches } from "./laws.ts";

describe("the order of a list", () => {
  function breachesOf(...times: readonly (string | undefined)[]): unknown {
    const tasks = times.map(
      (timestamp): JsonValue => ({ status: timestamp ? { timestamp } : {} }),
    );
    const exchange: Exchange = {
      status: 200,
      headers: new Headers(),
      documents: [{ json: { tasks }, id: undefined }],
      isWholeStream: false,
      breaches: [],
    };
    const call = {
      method: "ListTasks",
      params: {},
      headers: {},
      leaveAfter: Number.POSITIVE_INFINITY,
    };
    return lawBreaches(call, exchange, "1.0");
  }
  const OLD = "2026-01-01T00:00:00Z";
  const NEW = "2026-01-01T00:00:00.001Z";

  it("is that of the times of the tasks, the newest first", () => {
    expect(breachesOf(NEW, NEW, OLD)).toEqual([]);
    expect(breachesOf(NEW, OLD, NEW)).toEqual([
      {
        requirement: "A2A1-LIST",
        reason: `tasks must be listed newest first: got ${OLD} before ${NEW}`,
      },
    ]);
  });

  it("is free where tasks have no times", () => {
    expect(breachesOf(undefined, undefined)).toEqual([]);
  });
});
