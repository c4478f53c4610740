import { create, fromJson, type MessageInitShape } from "@bufbuild/protobuf";
import { ValueSchema } from "@bufbuild/protobuf/wkt";
import { FileSchema, MessageSchema, type PartSchema } from "@devtool/schema";
import { Code } from "@devtool/server/agent";
import { describe, expect, it } from "vitest";
import { promptBlocks } from "./prompt-blocks.ts";

const ALL = { image: true, audio: true, embeddedContext: true };
const NONE = {};

function blocks(
  accepts: object,
  ...parts: MessageInitShape<typeof PartSchema>[]
): unknown[] {
  return promptBlocks(create(MessageSchema, { parts }), "Test", accepts);
}

function file(
  name: string,
  mediaType: string,
  content: string | Uint8Array,
): MessageInitShape<typeof PartSchema> {
  const source =
    typeof content === "string"
      ? { case: "uri" as const, value: content }
      : { case: "bytes" as const, value: content };
  return {
    content: {
      case: "file",
      value: create(FileSchema, { name, mediaType, source }),
    },
  };
}

describe("a message of the user, as a prompt", () => {
  it("is its texts, each a block", () => {
    expect(
      blocks(
        NONE,
        { content: { case: "text", value: "a" } },
        { content: { case: "text", value: "b" } },
      ),
    ).toEqual([
      { type: "text", text: "a" },
      { type: "text", text: "b" },
    ]);
  });

  it("has data as its JSON, whatever its kind", () => {
    const list = fromJson(ValueSchema, ["a", 1, null]);
    const data = { a: { b: [true] } };
    expect(
      blocks(
        NONE,
        { content: { case: "data", value: data } },
        { content: { case: "dataValue", value: list } },
      ),
    ).toEqual([
      { type: "text", text: '{"a":{"b":[true]}}' },
      { type: "text", text: '["a",1,null]' },
    ]);
  });

  it("has images and audio for an agent that takes them", () => {
    const bytes = Uint8Array.of(0, 255);
    expect(
      blocks(
        ALL,
        file("a.png", "image/png", bytes),
        file("a.wav", "audio/wav", bytes),
      ),
    ).toEqual([
      { type: "image", data: "AP8=", mimeType: "image/png" },
      { type: "audio", data: "AP8=", mimeType: "audio/wav" },
    ]);
  });

  it("names the file and the agent for one that takes none", () => {
    const problem =
      'file "a.png" cannot be sent: agent "Test" accepts no image';
    expect(() =>
      blocks(NONE, file("a.png", "image/png", Uint8Array.of(0))),
    ).toThrow(expect.objectContaining({ code: Code.InvalidArgument, problem }));
  });

  it("has a file by URI as a link that keeps its lines", () => {
    expect(
      blocks(NONE, file("a.ts", "text/plain", "file:///w/a.ts#L10-L20")),
    ).toEqual([
      {
        type: "resource_link",
        name: "a.ts",
        uri: "file:///w/a.ts#L10-L20",
        mimeType: "text/plain",
      },
    ]);
    expect(blocks(NONE, file("", "", "file:///w/a.ts#L10"))).toEqual([
      {
        type: "resource_link",
        name: "file:///w/a.ts#L10",
        uri: "file:///w/a.ts#L10",
      },
    ]);
  });

  it("has a text file as a resource, or as text for an agent that takes none", () => {
    const bytes = new TextEncoder().encode("content");
    expect(blocks(ALL, file("a b.txt", "text/plain", bytes))).toEqual([
      {
        type: "resource",
        resource: {
          uri: "attachment:///a%20b.txt",
          mimeType: "text/plain",
          text: "content",
        },
      },
    ]);
    expect(blocks(NONE, file("a b.txt", "text/plain", bytes))).toEqual([
      { type: "text", text: "a b.txt:\ncontent" },
    ]);
  });

  it("has any other file as a resource of bytes", () => {
    expect(blocks(ALL, file("a.bin", "", Uint8Array.of(0, 255)))).toEqual([
      {
        type: "resource",
        resource: { uri: "attachment:///a.bin", mimeType: null, blob: "AP8=" },
      },
    ]);
  });
});
