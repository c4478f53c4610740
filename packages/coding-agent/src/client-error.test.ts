import { writeFile } from "node:fs/promises";
import { join } from "node:path";
import { temporaryDirectory } from "@devtool/internal/testing/temporary-directory";
import { PolicyError } from "@devtool/policy";
import { SandboxError } from "@devtool/sandbox";
import { Code, DevtoolError } from "@devtool/server/agent";
import { describe, expect, it } from "vitest";
import { clientError, translateError } from "./client-error.ts";
import { serveCodingAgent } from "./serve-coding-agent.ts";

describe("an internal error", () => {
  it("sends the operator one line with ids, the kind of error and the stack frame, without its message", () => {
    const reason = Object.assign(
      new TypeError("secret\n    at content (secret)\nwords"),
      { code: "EIO" },
    );
    const { message, notices } = convert(reason);
    expect(message).toBe("internal error: the server's log says more");
    expect(notices).toHaveLength(1);
    const [, line = ""] =
      /^a tool call failed inside the server: (.*)$/.exec(notices[0] ?? "") ??
      [];
    expect(JSON.parse(line)).toEqual({
      ...{
        task: "t1",
        tool: `${"x".repeat(79)}…`,
        error: "TypeError",
        code: "EIO",
      },
      at: expect.stringContaining("client-error.test.ts"),
    });
    expect(line).not.toContain("secret");
  });

  it("is reported by its cause, and by its type when it is not an error", () => {
    const wrapped = convert(
      new DevtoolError("it broke", Code.Internal, {
        cause: new RangeError("secret"),
      }),
    );
    expect(wrapped).toEqual({
      message: "it broke",
      notices: [expect.stringContaining('"error":"RangeError"')],
    });
    expect(convert("secret").notices).toEqual([
      expect.stringContaining('"error":"string"'),
    ]);
  });

  it("is not what a client error or an abort is, so the operator gets no notice", () => {
    expect(
      convert(new DevtoolError("choose another", Code.InvalidArgument)),
    ).toEqual({
      ...{ message: "choose another", notices: [] },
    });
    expect(convert(new DOMException("gone", "AbortError")).notices).toEqual([]);
  });
});

describe("an error of the policy or the sandbox", () => {
  it.each([
    [new PolicyError("pattern is too large", "invalid"), Code.InvalidArgument],
    [
      new PolicyError("approve it for this session", "cannot-save"),
      Code.FailedPrecondition,
    ],
    [
      new PolicyError("approval cannot be saved: ENOSPC", "not-written"),
      Code.Unavailable,
    ],
    [
      new SandboxError("its .git is a symbolic link", "cannot-confine"),
      Code.FailedPrecondition,
    ],
    [
      new SandboxError("bwrap is not installed", "unavailable"),
      Code.FailedPrecondition,
    ],
    [
      new SandboxError("bash is not installed", "missing-program"),
      Code.FailedPrecondition,
    ],
  ])("becomes a DevtoolError with the same message: %s", (reason, code) => {
    const translated = translateError(reason);
    expect(translated).toBeInstanceOf(DevtoolError);
    expect(translated).toMatchObject({
      message: reason.message,
      code,
      cause: reason,
    });
  });

  it("reaches the client unchanged, without a notice for the operator", () => {
    const notices: string[] = [];
    const reason = new SandboxError(
      "the workspace cannot be confined",
      "cannot-confine",
    );
    const { message } = clientError(reason, "a call", {}, (text) =>
      notices.push(text),
    );
    expect([message, notices]).toEqual([
      "the workspace cannot be confined",
      [],
    ]);
  });

  it("stops the start of a server whose policy file is invalid", async () => {
    const directory = temporaryDirectory();
    const path = join(directory, "policy.toml");
    await writeFile(path, '[[rule]]\ndecision = "maybe"\n', { mode: 0o600 });
    const reason = await serveCodingAgent({ policyFiles: [path] }).catch(
      (thrown: unknown) => thrown,
    );
    expect(reason).toBeInstanceOf(DevtoolError);
    expect(reason).toMatchObject({
      code: Code.InvalidArgument,
      message: expect.stringContaining('decision "maybe"'),
    });
  });

  it("does not change any other error", () => {
    const reason = new Error("EIO");
    expect(translateError(reason)).toBe(reason);
  });
});

function convert(reason: unknown): {
  readonly message: string;
  readonly notices: readonly string[];
} {
  const notices: string[] = [];
  const place = { task: "t1", tool: "x".repeat(500) };
  const { message } = clientError(reason, "a tool call", place, (text) =>
    notices.push(text),
  );
  return { message, notices };
}
