import { EXTENSION_URI } from "@devtool/schema";
import { describe, expect, it } from "vitest";
import { type ActivationRequest, activationOf } from "./activation.ts";

describe("the activation of the extension by a request (CARD-3)", () => {
  const activation = (
    headers: Readonly<Record<string, string>>,
    content: Partial<ActivationRequest> = {},
  ) =>
    activationOf({
      headerOf: (name) => headers[name],
      knowsExtension: false,
      startsTurn: true,
      ownHeader: "x-a2a-extensions",
      ...content,
    });

  it("is decided by a header, in the spelling of either version", () => {
    for (const header of ["x-a2a-extensions", "a2a-extensions"]) {
      const named = { view: "extension", activates: true, header };
      expect(activation({ [header]: EXTENSION_URI })).toEqual(named);
      expect(
        activation({ [header]: ` https://example.com/v1 ,${EXTENSION_URI}` }),
      ).toEqual(named);
      expect(
        activation({ [header]: "" }, { knowsExtension: true }),
      ).toMatchObject({ view: "plain", activates: false });
    }
    const both = {
      "x-a2a-extensions": "https://example.com/v1",
      "a2a-extensions": EXTENSION_URI,
    };
    expect(activation(both)).toEqual({
      view: "extension",
      activates: true,
      header: "a2a-extensions",
    });
  });

  it("is decided without a header by the content of the request, and failing that by the conversation", () => {
    expect(activation({}, { knowsExtension: true })).toEqual({
      view: "extension",
      activates: true,
      header: "x-a2a-extensions",
    });
    expect(activation({})).toEqual({
      view: "inherited",
      activates: false,
      header: "x-a2a-extensions",
    });
  });

  it("leaves the conversation as it is when the request starts no turn", () => {
    const reading = { startsTurn: false };
    expect(
      activation({ "x-a2a-extensions": EXTENSION_URI }, reading),
    ).toMatchObject({ activates: false });
    expect(activation({}, { ...reading, knowsExtension: true })).toMatchObject({
      view: "extension",
      activates: false,
    });
  });
});
