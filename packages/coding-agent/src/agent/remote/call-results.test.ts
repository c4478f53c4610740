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
});
