import { describe, expect, it } from "vitest";
import type { ProgramStreams } from "../program/program.ts";
import { runClientSuite } from "./run-client-suite.ts";

describe("runClientSuite", () => {
  it("ends with the reason of its signal, without a result", async () => {
    const silent: ProgramStreams = {
      write: () => Promise.resolve(),
      output: new ReadableStream<Uint8Array>(),
    };
    const reason = new Error("enough");
    const suite = runClientSuite(silent, AbortSignal.abort(reason));
    await expect(Array.fromAsync(suite)).rejects.toBe(reason);
  });
});
