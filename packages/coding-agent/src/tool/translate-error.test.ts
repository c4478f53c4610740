import { mkdtemp, rm, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { PolicyError } from "@devtool/policy";
import { SandboxError } from "@devtool/sandbox";
import { Code, DevtoolError } from "@devtool/server/agent";
import { describe, expect, it } from "vitest";
import { serveCodingAgent } from "../serve-coding-agent.ts";
import { clientError } from "./hidden-fault.ts";
import { translateError } from "./translate-error.ts";

describe("what the policy or the sandbox refuses", () => {
  it.each([
    [new PolicyError("pattern is too large", "invalid"), Code.InvalidArgument],
    [new PolicyError("approve it for this session", "cannot-save"), Code.FailedPrecondition],
    [new PolicyError("approval cannot be saved: ENOSPC", "not-written"), Code.Unavailable],
    [new SandboxError("its .git is a symbolic link", "cannot-confine"), Code.FailedPrecondition],
    [new SandboxError("bwrap is not installed", "unavailable"), Code.FailedPrecondition],
    [new SandboxError("bash is not installed", "missing-program"), Code.FailedPrecondition],
  ])("is an error of ours with its words: %s", (reason, code) => {
    const translated = translateError(reason);
    expect(translated).toBeInstanceOf(DevtoolError);
    expect(translated).toMatchObject({ message: reason.message, code, cause: reason });
  });

  it("is what the client of a call sees, and no fault for the operator", () => {
    const notices: string[] = [];
    const reason = new SandboxError("the workspace cannot be confined", "cannot-confine");
    const { message } = clientError(reason, { what: "a call", place: {}, onNotice: (text) => notices.push(text) });
    expect([message, notices]).toEqual(["the workspace cannot be confined", []]);
  });

  it("stops the start of a server that names a policy file which cannot be used", async () => {
    const directory = await mkdtemp(join(tmpdir(), "devtool-translate-"));
    const path = join(directory, "policy.toml");
    await writeFile(path, '[[rule]]\ndecision = "maybe"\n', { mode: 0o600 });
    const reason = await serveCodingAgent({ policyFiles: [path] }).catch((thrown: unknown) => thrown);
    expect(reason).toBeInstanceOf(DevtoolError);
    expect(reason).toMatchObject({ code: Code.InvalidArgument, message: expect.stringContaining('decision "maybe"') });
    await rm(directory, { recursive: true });
  });

  it("leaves what others throw as it is", () => {
    const reason = new Error("EIO");
    expect(translateError(reason)).toBe(reason);
  });
});
