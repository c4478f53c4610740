import { describe, expect, it } from "vitest";
import {
  assertTarget,
  checkedAddresses,
  isAllowedHost,
  parseTarget,
} from "./outbound-policy.ts";

describe("a host that the operator allows", () => {
  it.each<[string, string, boolean]>([
    ["localhost:8088", "http://localhost:8088/x", true],
    ["localhost:8088", "http://localhost:8089/x", false],
    ["localhost:*", "http://localhost:8089/x", true],
    ["localhost:*", "https://localhost/x", true],
    ["localhost:*", "http://127.0.0.1:8089/x", false],
    ["localhost:*", "http://localhost.evil.example:8089/x", false],
    ["[::1]:*", "http://[::1]:1/x", true],
    ["[::1]:1", "http://[::1]:1/x", true],
    ["wiki.internal:443", "https://wiki.internal/x", true],
    ["localhost", "http://localhost/x", false],
    ["*:*", "http://localhost/x", false],
    ["*", "http://localhost/x", false],
    ["", "http://localhost/x", false],
  ])("as %j covers %s: %s", (entry, url, isCovered) => {
    expect(
      isAllowedHost(new URL(url), {
        allowedHosts: [entry],
        allowing: String,
        ownPorts: () => [],
      }),
    ).toBe(isCovered);
  });
});

describe("a name of this machine", () => {
  it.each([
    "localhost",
    "localhost.",
    "LOCALHOST",
    "x.localhost",
    "ip6-localhost",
    "ip6-loopback",
    "localhost.localdomain",
  ])("is refused also while nothing resolves it: %s", async (host) => {
    const url = parseTarget(`http://${host}:3000/hook`);
    const unresolved = {
      allowing: String,
      ownPorts: () => [],
      resolve: () => Promise.reject(new Error("ENOTFOUND")),
    };
    await expect(
      checkedAddresses(
        url,
        { ...unresolved, allowedHosts: [] },
        AbortSignal.timeout(60_000),
      ),
    ).rejects.toThrow(
      `host "${url.hostname}" may not be reached: an address of it is this machine`,
    );
    await expect(
      checkedAddresses(
        url,
        { ...unresolved, allowedHosts: [`${host}:3000`] },
        AbortSignal.timeout(60_000),
      ),
    ).rejects.toThrow("its name was not found");
  });
});

describe("the URL of an outbound request", () => {
  it.each([
    "https://example.com/\r\nX: y",
    "\u0000https://example.com/",
    "https://example.com/\t",
  ])("is refused with a control character: %j", (url) => {
    expect(() => parseTarget(url)).toThrow("has a control character");
  });

  it.each([
    ["ftp://me:s3cret@a.example", 'url "ftp://me@a.example/" must begin'],
    ["https://me:s3/cret@a.example", 'url "https://…" is not an absolute'],
    [
      "https://me:s3cret@a.example/\t",
      'url "https://a.example/" has a control',
    ],
    ["https://me:s3cret@a.example", 'url "a.example" holds a user name'],
  ])("is refused without a word of its password: %j", (url, problem) => {
    expect(() => parseTarget(url)).toThrow(problem);
  });

  it("is no target of a list, which shows no password either", () => {
    expect(() => assertTarget("targets", "me:s3cret@a.example:1")).toThrow(
      'targets "…" is not a host with a port',
    );
  });

  it("is what a URL is read as", () => {
    expect(parseTarget("HTTPS://Example.com/%0d%0a").href).toBe(
      "https://example.com/%0d%0a",
    );
  });
});
