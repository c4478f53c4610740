import { describe, expect, it } from "vitest";
import { decodePushConfig } from "./push-config.ts";

describe("the schemes of a push config in A2A 0.3", () => {
  const schemeIn = (schemes: readonly string[]) =>
    decodePushConfig({
      taskId: "t",
      pushNotificationConfig: {
        url: "https://example.com",
        authentication: { schemes: [...schemes], credentials: "c" },
      },
    }).authentication?.scheme;

  it.each([
    [["ApiKey", "Bearer"], "Bearer"],
    [["Digest", "basic", "Bearer"], "basic"],
    [["ApiKey"], "ApiKey"],
  ])("B27: of %j is one that can be sent", (schemes, scheme) => {
    expect(schemeIn(schemes)).toBe(scheme);
  });

  it("B27: are refused where none of several can be sent", () => {
    expect(() => schemeIn(["ApiKey", "Digest"])).toThrow(
      "are several without Bearer or Basic: give the one to use",
    );
  });
});
