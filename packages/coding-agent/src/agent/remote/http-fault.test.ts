import { Code } from "@devtool/server/agent";
import { describe, expect, it } from "vitest";
import { httpFault, statusFault } from "./http-fault.ts";

const readError = (message: string) => ({ message });

describe("an HTTP error of a model's API", () => {
  it.each([
    ["5", 5000],
    ["0.25", 250],
    ["Sat, 21 Nov 2026 07:00:09 GMT", 9000],
    ["Sat, 21 Nov 2026 06:00:00 GMT", 0],
    ["soon", 0],
  ])("reads Retry-After %s", async (value, ms) => {
    const headers = {
      "retry-after": value,
      date: "Sat, 21 Nov 2026 07:00:00 GMT",
    };
    expect(
      (await httpFault(answer(429, { headers }), readError)).retryAfterMs,
    ).toBe(ms);
  });

  it("waits as long as the header or the body asks, whichever is longer", () => {
    expect(
      statusFault(429, { message: "", retryAfterMs: 12_500 }, 5000)
        .retryAfterMs,
    ).toBe(12_500);
    expect(
      statusFault(429, { message: "", retryAfterMs: 500 }, 5000).retryAfterMs,
    ).toBe(5000);
  });

  it("is not retriable if waiting does not help", () => {
    const fault = statusFault(429, { message: "quota", lastingRemedy: "pay" });
    expect(fault).toMatchObject({
      retriable: false,
      message: "the model answered with status 429 (quota): pay",
    });
  });

  it("suggests /compress if the history is too long for the model", () => {
    const fault = statusFault(400, {
      message: "The input token count exceeds the maximum number of tokens.",
    });
    expect(fault.message).toMatch(/run \/compress/);
  });

  it("contains only the first line of the API's message, cut", () => {
    const message = `${"long ".repeat(200)}\nsecond line`;
    const fault = statusFault(500, { message });
    expect(fault.message.length).toBeLessThan(400);
    expect(fault.message).not.toContain("second line");
  });

  it("reads only the beginning of an endless body", async () => {
    let sent = 0;
    async function* endless(): AsyncIterable<Uint8Array> {
      for (; ; sent += 1024) yield new Uint8Array(1024).fill(97);
    }
    const fault = await httpFault(answer(503, { body: endless() }), readError);
    expect(fault).toMatchObject({ code: Code.Unavailable, retriable: true });
    expect(sent).toBeLessThan(100_000);
  });
});

function answer(
  status: number,
  {
    headers = {},
    body,
  }: {
    readonly headers?: Record<string, string>;
    readonly body?: AsyncIterable<Uint8Array>;
  },
): Response {
  return new Response(body ? ReadableStream.from(body) : null, {
    status,
    headers,
  });
}
