import { EXTENSION_URI } from "@devtool/schema";
import { describe, expect, it } from "vitest";
import { extensionSignsV03, showsExtension } from "./extension-signs.ts";

const answer = { tool_call_id: "c", selected_option_id: "cancel" };

describe("the parameters of a method", () => {
  it.each([
    ["metadata", { metadata: { [EXTENSION_URI]: {} } }],
    [
      "metadata of the message",
      { message: { metadata: { [EXTENSION_URI]: { workspace_path: "/w" } } } },
    ],
    [
      "metadata under a compatible version",
      {
        message: {
          metadata: { [EXTENSION_URI.replace("/v0/", "/v0.0.3/")]: {} },
        },
      },
    ],
    [
      "the list of the message",
      { message: { extensions: ["https://example.com/v1", EXTENSION_URI] } },
    ],
    [
      "an answer to a tool call",
      {
        message: {
          parts: [
            { kind: "text", text: "yes" },
            { kind: "data", data: answer },
          ],
        },
      },
    ],
    [
      "an answer with null for an id",
      {
        message: {
          parts: [{ data: { toolCallId: null, selectedOptionId: "cancel" } }],
        },
      },
    ],
    [
      "an answer in camelCase",
      {
        message: {
          parts: [{ data: { toolCallId: "c", selectedOptionId: "cancel" } }],
        },
      },
    ],
  ])(
    "show by %s that the client supports the extension (CARD-3)",
    (_what, params) => {
      expect(showsExtension(extensionSignsV03(params))).toBe(true);
    },
  );

  it.each([
    ["nothing", undefined],
    [
      "another extension",
      {
        message: {
          extensions: ["https://example.com/v1"],
          metadata: { "https://example.com/v1": {} },
        },
      },
    ],
    [
      "another version",
      { message: { extensions: [EXTENSION_URI.replace("/v0/", "/v1/")] } },
    ],
    [
      "data of another shape",
      {
        message: {
          parts: [{ kind: "data", data: { selected_option_id: "cancel" } }],
        },
      },
    ],
    [
      "what is of another type",
      {
        metadata: [],
        message: { extensions: EXTENSION_URI, parts: "none", metadata: 1 },
      },
    ],
  ])("show no support by %s", (_what, params) => {
    expect(showsExtension(extensionSignsV03(params))).toBe(false);
  });
});
