import { Code } from "@devtool/server/agent";
import { describe, expect, it } from "vitest";
import { httpFault, statusFault } from "./http-fault.ts";

describe("an HTTP error of the API", () => {
  const body = (error: object): string => JSON.stringify({ error });

  it.each([
    ["5", 5000],
    ["0.25", 250],
    ["Sat, 21 Nov 2026 07:00:09 GMT", 9000],
    ["Sat, 21 Nov 2026 06:00:00 GMT", 0],
    ["soon", 0],
  ])("reads Retry-After %s", async (value, ms) => {
    const headers = { "retry-after": value, date: "Sat, 21 Nov 2026 07:00:00 GMT" };
    expect((await httpFault(answer(429, { headers }))).retryAfterMs).toBe(ms);
  });

  it("reads RetryInfo", () => {
    const details = [{ "@type": "type.googleapis.com/google.rpc.RetryInfo", retryDelay: "12.5s" }];
    expect(statusFault(429, body({ message: "slow down", details })).retryAfterMs).toBe(12_500);
  });

  it("is not retriable if a daily quota is used up", () => {
    const details = [{ violations: [{ quotaId: "GenerateRequestsPerDayPerProjectPerModel" }] }];
    const fault = statusFault(429, body({ message: "quota", details }));
    expect(fault.retriable).toBe(false);
    expect(fault.message).toMatch(/daily quota is used up/);
  });

  it("suggests /compress if the history is too long for the model", () => {
    const fault = statusFault(400, body({ message: "The input token count exceeds the maximum number of tokens." }));
    expect(fault.message).toMatch(/run \/compress/);
  });

  it("contains only the first line of the API's message, cut", () => {
    const message = `${"long ".repeat(200)}\nsecond line`;
    const fault = statusFault(500, body({ message }));
    expect(fault.message.length).toBeLessThan(400);
    expect(fault.message).not.toContain("second line");
  });

  it("reads only the beginning of an endless body", async () => {
    let sent = 0;
    async function* endless(): AsyncIterable<Uint8Array> {
      for (; ; sent += 1024) yield new Uint8Array(1024).fill(97);
    }
    const fault = await httpFault(answer(503, { body: endless() }));
    expect(fault).toMatchObject({ code: Code.Unavailable, retriable: true });
    expect(sent).toBeLessThan(100_000);
  });
});

function answer(
  status: number,
  { headers = {}, body }: { readonly headers?: Record<string, string>; readonly body?: AsyncIterable<Uint8Array> },
): Response {
  return new Response(body ? ReadableStream.from(body) : null, { status, headers });
}
