import { Code, DevtoolError } from "@devtool/server/agent";
import { describe, expect, it } from "vitest";
import { clientError } from "./hidden-fault.ts";

describe("a failure that clients see as internal", () => {
  it("is a line for the operator, with ids, its kind and the place in the code, and without its words", () => {
    const reason = Object.assign(new TypeError("secret\n    at content (secret)\nwords"), { code: "EIO" });
    const { message, notices } = told(reason);
    expect(message).toBe("internal error: the server's log says more");
    expect(notices).toHaveLength(1);
    const [, line = ""] = /^a tool call failed inside the server: (.*)$/.exec(notices[0] ?? "") ?? [];
    expect(JSON.parse(line)).toEqual({
      ...{ task: "t1", tool: `${"x".repeat(79)}…`, error: "TypeError", code: "EIO" },
      at: expect.stringContaining("hidden-fault.test.ts"),
    });
    expect(line).not.toContain("secret");
  });

  it("is its cause, where it was thrown as internal, and also what is not an error", () => {
    const wrapped = told(new DevtoolError("it broke", Code.Internal, { cause: new RangeError("secret") }));
    expect(wrapped).toEqual({ message: "it broke", notices: [expect.stringContaining('"error":"RangeError"')] });
    expect(told("secret").notices).toEqual([expect.stringContaining('"error":"string"')]);
  });

  it("is not reported to the operator when it was thrown for the client, or aborted", () => {
    expect(told(new DevtoolError("choose another", Code.InvalidArgument))).toEqual({
      ...{ message: "choose another", notices: [] },
    });
    expect(told(new DOMException("gone", "AbortError")).notices).toEqual([]);
  });
});

function told(reason: unknown): { readonly message: string; readonly notices: readonly string[] } {
  const notices: string[] = [];
  const place = { task: "t1", tool: "x".repeat(500) };
  const { message } = clientError(reason, { what: "a tool call", place, onNotice: (text) => notices.push(text) });
  return { message, notices };
}
