import { describe, expect, it } from "vitest";
import {
  EXTENSION_URI,
  findExtension,
  isCompatibleVersion,
  isExtensionUri,
  parseExtensionVersion,
} from "./extension.ts";

const uri = (version: string): string =>
  EXTENSION_URI.replace("/v0/", `/${version}/`);

describe("the version in the extension's URI (CARD-2)", () => {
  it("is the path segment that looks like a version; missing components are 0", () => {
    expect(parseExtensionVersion(EXTENSION_URI)).toEqual({
      major: 0,
      minor: 0,
      patch: 0,
    });
    expect(parseExtensionVersion(uri("v1.2"))).toEqual({
      major: 1,
      minor: 2,
      patch: 0,
    });
    expect(parseExtensionVersion("https://example.com/v10.20.30?x=v1")).toEqual(
      { major: 10, minor: 20, patch: 30 },
    );
    for (const none of [
      "",
      "https://example.com/spec",
      "https://example.com/v01",
      "https://example.com/version1",
      "x?v1",
    ]) {
      expect(parseExtensionVersion(none), none).toBeUndefined();
    }
  });

  it("is compatible as in SemVer", () => {
    const version = (text: string) =>
      parseExtensionVersion(`/${text}/`) ?? { major: -1, minor: -1, patch: -1 };
    expect(isCompatibleVersion(version("v1.2"), version("v1.9.3"))).toBe(true);
    expect(isCompatibleVersion(version("v1"), version("v2"))).toBe(false);
    expect(isCompatibleVersion(version("v0.1"), version("v0.1.7"))).toBe(true);
    expect(isCompatibleVersion(version("v0.1"), version("v0.2"))).toBe(false);
  });

  it("decides whether the extension of a card can be used; the error names both versions", () => {
    expect(findExtension(["urn:other", EXTENSION_URI])).toBe(EXTENSION_URI);
    expect(findExtension(["urn:other"])).toBeUndefined();
    expect(isExtensionUri(uri("v0.0.9"))).toBe(true);
    expect(() => findExtension([uri("v2.1")])).toThrow(
      "version 2.1.0 of the extension, this client speaks 0.0.0",
    );
    expect(() => findExtension([EXTENSION_URI.replace("/v0", "")])).toThrow(
      "has no version of the extension",
    );
  });
});
