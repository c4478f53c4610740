import { statusFault } from "@devtool/coding-agent/model";
import { describe, expect, it } from "vitest";
import { readGoogleError } from "./google-error.ts";

describe("an error in Google's form", () => {
  const body = (error: object): string => JSON.stringify({ error });

  it("reads RetryInfo", () => {
    const details = [
      {
        "@type": "type.googleapis.com/google.rpc.RetryInfo",
        retryDelay: "12.5s",
      },
    ];
    expect(
      readGoogleError(body({ message: "slow down", details })).retryAfterMs,
    ).toBe(12_500);
  });

  it("is not retriable if a daily quota is used up", () => {
    const details = [
      { violations: [{ quotaId: "GenerateRequestsPerDayPerProjectPerModel" }] },
    ];
    const fault = statusFault(
      429,
      readGoogleError(body({ message: "quota", details })),
    );
    expect(fault.retriable).toBe(false);
    expect(fault.message).toMatch(/daily quota is used up/);
  });
});
