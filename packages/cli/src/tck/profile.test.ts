import { describe, expect, it } from "vitest";
import { PROFILES, profileOptions } from "./profile.ts";

describe("a profile of the server", () => {
  it.each(PROFILES)(
    "%s brings an agent, and does not let in who sends no credentials by itself",
    async (profile) => {
      const options = await profileOptions(profile, {
        env: {},
        configured: { pushTargets: ["wiki.internal:443"] },
      });
      expect(options.agents).toHaveProperty("devtool.servesAnonymous", true);
      expect(options.retryWindowMs).toBe(0);
      expect(options.pushTargets).toEqual([
        "wiki.internal:443",
        "localhost:*",
        "127.0.0.1:*",
      ]);
      expect(options).not.toHaveProperty("anonymous");
      expect(options).not.toHaveProperty("token");
    },
  );

  it("takes the token that a kit has, where one is set", async () => {
    expect(
      (await profileOptions("acts", base({ DEVTOOL_TOKEN: "itk-valid-token" })))
        .token,
    ).toBe("itk-valid-token");
    expect(
      await profileOptions("acts", base({ DEVTOOL_TOKEN: "" })),
    ).not.toHaveProperty("token");
  });

  it.each(["soon", "0", "-1", "Infinity"])(
    "does not start with a streaming timeout of %j",
    async (timeout) => {
      await expect(
        profileOptions("tck", base({ TCK_STREAMING_TIMEOUT: timeout })),
      ).rejects.toThrow(
        `TCK_STREAMING_TIMEOUT "${timeout}" is not a duration: give seconds`,
      );
    },
  );
});

function base(
  env: Readonly<Record<string, string>>,
): Parameters<typeof profileOptions>[1] {
  return { env, configured: {} };
}
