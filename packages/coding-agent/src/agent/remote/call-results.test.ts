import { create } from "@bufbuild/protobuf";
import { MessageSchema, Role, toolCallsOf } from "@devtool/schema";
import { describe, expect, it } from "vitest";
import { CallResults } from "./call-results.ts";

const MIB = 1024 * 1024;

describe("the images of results in a request", () => {
  it("are 8 MiB at most, the newest first, and text in place of the others", () => {
    const history = [4, 3, 4, 1].map((size, at) =>
      create(MessageSchema, {
        role: Role.AGENT,
        parts: [
          {
            content: {
              case: "toolCall",
              value: { toolCallId: `c${at}`, toolName: "look" },
            },
            toolCallDetail: {
              files: [
                {
                  mediaType: "image/png",
                  source: { case: "bytes", value: new Uint8Array(size * MIB) },
                },
              ],
            },
          },
        ],
      }),
    );
    const results = new CallResults(history);
    const calls = history.flatMap(toolCallsOf);
    expect(calls.map((call) => results.fileParts(call).length)).toEqual([
      0, 1, 1, 1,
    ]);
    expect(calls.map((call) => results.describe(call).note)).toEqual([
      "1 images or sounds of this result are not shown any more.",
      undefined,
      undefined,
      undefined,
    ]);
  });

  it("are no files of other types, which the model is told of", () => {
    const file = { case: "bytes" as const, value: new Uint8Array(1) };
    const message = create(MessageSchema, {
      role: Role.AGENT,
      parts: [
        {
          content: {
            case: "toolCall",
            value: { toolCallId: "c", toolName: "look" },
          },
          toolCallDetail: {
            files: [
              { mediaType: "image/svg+xml", source: file },
              { mediaType: "image/PNG", source: file },
            ],
          },
        },
      ],
    });
    const results = new CallResults([message]);
    const [call] = toolCallsOf(message);
    if (!call) throw new Error("there is no call");
    expect(results.fileParts(call)).toMatchObject([
      { content: { value: { mediaType: "image/PNG" } } },
    ]);
    expect(results.describe(call).note).toBe(
      'A file of type "image/svg+xml" of this result is not shown: it is not an image or a sound that models take.',
    );
  });
});
