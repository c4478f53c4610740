import { describe, expect, it } from "vitest";
import { PROFILES, profileOptions } from "./profile.ts";

describe("a profile of the server", () => {
  it.each(PROFILES)("%s brings an agent, and does not let in who sends no credentials by itself", async (profile) => {
    const options = await profileOptions(profile, {});
    expect(options.createAgent).toBeTypeOf("function");
    expect(options.retryWindowMs).toBe(0);
    expect(options).not.toHaveProperty("anonymous");
    expect(options).not.toHaveProperty("token");
  });

  it("takes the token that a kit has, where one is set", async () => {
    expect((await profileOptions("acts", { DEVTOOL_TOKEN: "itk-valid-token" })).token).toBe("itk-valid-token");
    expect(await profileOptions("acts", { DEVTOOL_TOKEN: "" })).not.toHaveProperty("token");
  });

  it.each(["soon", "0", "-1", "Infinity"])("does not start with a streaming timeout of %j", async (timeout) => {
    await expect(profileOptions("tck", { TCK_STREAMING_TIMEOUT: timeout })).rejects.toThrow(
      `TCK_STREAMING_TIMEOUT "${timeout}" is no time: give seconds`,
    );
  });
});
