import { describe, expect, it } from "vitest";
import { isOtherLoopbackName, ownAddresses } from "./own-addresses.ts";

describe("the addresses of a server", () => {
  it.each([
    ["http://127.0.0.1:8080", "http://127.0.0.1:8080"],
    ["http://[::1]:8080", "http://[::1]:8080"],
    ["https://localhost:8443", "https://localhost:8443"],
    ["http://127.0.0.1:80", "http://127.0.0.1"],
    ["https://127.0.0.1:443", "https://127.0.0.1"],
    ["http://192.0.2.1:8080", "http://192.0.2.1:8080"],
  ])(
    "make pages at %s its own, and none at another name of loopback",
    (url, origin) => {
      expect(ownAddresses(url, undefined).origins).toEqual([origin]);
    },
  );

  it("make pages at the public URL its own", () => {
    const { origins, hosts } = ownAddresses(
      "http://127.0.0.1:8080",
      "https://Agent.example:443/path",
    );
    expect(origins).toEqual(["http://127.0.0.1:8080", "https://agent.example"]);
    expect(hosts).toContain("agent.example");
  });

  it("are called by each name of loopback, at a default port with and without it", () => {
    expect(ownAddresses("http://127.0.0.1:8080", undefined).hosts).toEqual(
      expect.arrayContaining([
        "127.0.0.1:8080",
        "localhost:8080",
        "[::1]:8080",
      ]),
    );
    const secure = ownAddresses("https://127.0.0.1", undefined).hosts;
    expect(secure).toEqual(
      expect.arrayContaining([
        "localhost",
        "localhost:443",
        "[::1]",
        "[::1]:443",
      ]),
    );
    expect(secure).not.toContain("localhost:80");
  });

  it.each([
    ["localhost:8080", "http://127.0.0.1:8080", true],
    ["LOCALHOST:8080", "http://127.0.0.1:8080", true],
    ["[::1]:8080", "http://127.0.0.1:8080", true],
    ["127.0.0.1:8080", "http://127.0.0.1:8080", false],
    ["127.0.0.1:80", "http://127.0.0.1", false],
    ["localhost:443", "https://localhost", false],
    ["agent.example", "http://127.0.0.1:8080", false],
    ["", "http://127.0.0.1:8080", false],
  ])(
    "tell whether %j is another name of loopback than that of %s",
    (host, url, expected) => {
      expect(isOtherLoopbackName(host, url)).toBe(expected);
    },
  );
});
