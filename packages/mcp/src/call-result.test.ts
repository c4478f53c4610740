import { describe, expect, it } from "vitest";
import { readCallResult } from "./call-result.ts";

const LIMIT = 40;

describe("the result of a call", () => {
  it("is the text, with a description of other content", () => {
    const image = {
      type: "image" as const,
      mimeType: "image/png",
      data: Buffer.alloc(5).toString("base64"),
    };
    const result = readCallResult(
      { content: [{ type: "text", text: "one" }, image] },
      LIMIT,
    );
    expect(result).toMatchObject(
      output("text", "one\n[image image/png, 5 bytes]"),
    );
  });

  it("is the structured data if there is some", () => {
    const result = readCallResult(
      {
        content: [{ type: "text", text: "{}" }],
        structuredContent: { a: [1] },
      },
      LIMIT,
    );
    expect(result).toMatchObject(output("structuredData", { a: [1] }));
  });

  it("wraps structured data that is not an object", () => {
    expect(
      readCallResult({ content: [], structuredContent: [1, 2] }, LIMIT),
    ).toMatchObject(output("structuredData", { value: [1, 2] }));
  });

  it("is cut if it is too long", () => {
    const result = readCallResult(
      { content: [{ type: "text", text: "x".repeat(LIMIT + 2) }] },
      LIMIT,
    );
    expect(result).toMatchObject(
      output("text", `${"x".repeat(LIMIT)}\n[last 2 of 42 characters cut]`),
    );
  });

  it("is an error if the tool reports one", () => {
    const error = readCallResult(
      { isError: true, content: [{ type: "text", text: "no such city" }] },
      LIMIT,
    );
    expect(error).toMatchObject({
      value: {
        case: "error",
        value: { type: "mcp_tool_error", message: "no such city" },
      },
    });
    const silent = readCallResult({ isError: true, content: [] }, 100);
    expect(silent).toMatchObject({
      value: { value: { message: "the tool failed and did not say why" } },
    });
  });
});

function output(name: "text" | "structuredData", value: unknown): object {
  return {
    case: "result",
    value: { case: "output", value: { result: { case: name, value } } },
  };
}
