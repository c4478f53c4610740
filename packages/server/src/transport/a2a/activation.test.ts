import { EXTENSION_URI } from "@devtool/schema";
import { describe, expect, it } from "vitest";
import { activationOf } from "./activation.ts";

describe("what a request says about the extension (CARD-3)", () => {
  const asked = (headers: Readonly<Record<string, string>>, shows = false, speaks = true) =>
    activationOf({ headerOf: (name) => headers[name], shows, speaks, ownHeader: "x-a2a-extensions" });

  it("is decided by its header, in the spelling of either version", () => {
    for (const header of ["x-a2a-extensions", "a2a-extensions"]) {
      const named = { view: "extension", activates: true, header };
      expect(asked({ [header]: EXTENSION_URI })).toEqual(named);
      expect(asked({ [header]: ` https://example.com/v1 ,${EXTENSION_URI}` })).toEqual(named);
      expect(asked({ [header]: "" }, true)).toMatchObject({ view: "plain", activates: false });
    }
    const both = { "x-a2a-extensions": "https://example.com/v1", "a2a-extensions": EXTENSION_URI };
    expect(asked(both)).toEqual({ view: "extension", activates: true, header: "a2a-extensions" });
  });

  it("is decided by what it holds where it has no header, and else by the conversation", () => {
    expect(asked({}, true)).toEqual({ view: "extension", activates: true, header: "x-a2a-extensions" });
    expect(asked({})).toEqual({ view: "inherited", activates: false, header: "x-a2a-extensions" });
  });

  it("changes nothing of the conversation when it does not speak in it", () => {
    expect(asked({ "x-a2a-extensions": EXTENSION_URI }, false, false)).toMatchObject({ activates: false });
    expect(asked({}, true, false)).toMatchObject({ view: "extension", activates: false });
  });
});
