import { describe, expect, it } from "vitest";
import type { Subject } from "../subject/find-subject.ts";
import { pushCases, runPushSuite } from "./run-push-suite.ts";

/** A server whose card claims nothing, so that each case is skipped. */
const SUBJECT: Subject = {
  cardUrl: "http://127.0.0.1:1/card.json",
  url: "http://127.0.0.1:1/",
  token: undefined,
  agent: "",
  agentVersion: "",
  claims: new Set(),
  binding: {
    name: "JSONRPC",
    protocolVersion: "1.0",
    endpoint: "http://127.0.0.1:1/",
    has: () => true,
    play: () => Promise.reject(new Error("no case may be played")),
  },
};

describe("runPushSuite", () => {
  it("plays only the cases that are selected", async () => {
    const [one, other] = pushCases("1.0").cases.map(({ id }) => id);
    const results = await Array.fromAsync(
      runPushSuite(SUBJECT, AbortSignal.timeout(60_000), {
        receiver: "127.0.0.1:0",
        select: ({ id }) => id === one || id === other,
      }),
    );
    expect(results.map(({ id }) => id)).toEqual([one, other]);
  });
});
