import { describe, expect, it } from "vitest";
import { checkedFetch } from "./checked-fetch.ts";

describe("fetch that can reach only what a policy permits", () => {
  it("refuses a method that it does not send, before it looks a host up", async () => {
    const send = checkedFetch({
      allowedHosts: [],
      allowing: (target) => target,
      ownPorts: () => [],
      resolve: () => Promise.reject(new Error("was looked up")),
    });
    await expect(
      send("https://example.com/", { method: "PUT" }),
    ).rejects.toThrow('method "PUT" is not sent: use GET, POST or DELETE');
  });
});
