import { existsSync, readFileSync } from "node:fs";
import { join } from "node:path";
import type { JsonObject } from "@bufbuild/protobuf";
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { callRpc } from "../post-json.ts";
import { startOurs } from "./ours.ts";
import type { Served } from "./peer.ts";
import { type Frame, RawClient } from "./raw-client.ts";
import { askedIn } from "./transcript.ts";

/** Answers that change content, and why each one is refused. */
const REFUSED: Readonly<
  Record<string, readonly [answer: JsonObject, problem: string]>
> = {
  "a number": [{ newContent: 7 }, "newContent must be a string"],
  "a switch": [{ newContent: true }, "newContent must be a string"],
  "a list": [{ newContent: ["mine"] }, "newContent must be a string"],
  "an object that would become a text": [
    { newContent: { toString: "mine" } },
    "newContent must be a string",
  ],
  nothing: [{ newContent: null }, "newContent is null"],
  "both spellings": [
    { newContent: "mine", new_content: "other" },
    "is given twice",
  ],
  "another spelling": [{ newcontent: "mine" }, "newcontent is unknown"],
  "the name of the RFC": [
    { file_details: { new_content: "mine" } },
    "file_details is unknown",
  ],
  "the answer of another dialect": [
    { selected_option_id: "cancel" },
    "selected_option_id is unknown",
  ],
  "an option that changes arguments": [
    { outcome: "modify_arguments", newContent: "mine" },
    "modified_arguments",
  ],
  "no content where the option needs it": [
    { outcome: "modify_with_editor" },
    "file_details is missing",
  ],
  "an option that is not offered": [
    { outcome: "proceed_always_server", newContent: "mine" },
    "is not offered",
  ],
};

describe("content that a hostile client changes in the dialect of Gemini CLI (TOOL-6)", () => {
  let ours: Served;
  beforeAll(async () => {
    ours = await startOurs();
  });
  afterAll(() => ours[Symbol.asyncDispose]());

  it.each(Object.entries(REFUSED))(
    "is refused as %s; the question stays, and nothing is written",
    async (what, form) => {
      const [answer, problem] = form;
      const file = join(ours.workspace, `${what}.txt`);
      const client = new RawClient(ours);
      const callId = await ask(client, "write_file", {
        file_path: file,
        content: "theirs",
      });
      expect(
        messageOf(
          await client.answer({ callId, outcome: "proceed_once", ...answer }),
        ),
      ).toContain(problem);
      expect(existsSync(file)).toBe(false);
      await client.answer({
        callId,
        outcome: "proceed_once",
        newContent: "mine",
      });
      expect(readFileSync(file, "utf8")).toBe("mine");
    },
  );

  it("is refused for a command, which then does not run", async () => {
    const client = new RawClient(ours);
    const mark = join(ours.workspace, "mark");
    const callId = await ask(client, "run_shell_command", {
      command: `touch ${mark}`,
    });
    const refused = await client.answer({
      callId,
      outcome: "proceed_once",
      newContent: "touch other",
    });
    expect(messageOf(refused)).toContain("which changes no file");
    expect(existsSync(mark)).toBe(false);
  });

  it("is written nowhere when the call is declined with it", async () => {
    const client = new RawClient(ours);
    const file = join(ours.workspace, "declined.txt");
    const callId = await ask(client, "write_file", {
      file_path: file,
      content: "theirs",
    });
    await client.answer({ callId, outcome: "cancel", newContent: "mine" });
    expect(existsSync(file)).toBe(false);
  });

  it("answers no call twice in one message", async () => {
    const client = new RawClient(ours);
    const file = join(ours.workspace, "twice.txt");
    const callId = await ask(client, "write_file", {
      file_path: file,
      content: "theirs",
    });
    const answers = ["one", "two"].map((newContent) => ({
      callId,
      outcome: "proceed_once",
      newContent,
    }));
    expect(messageOf(await client.answer(...answers))).toContain(
      "is answered twice",
    );
    expect(existsSync(file)).toBe(false);
  });

  async function ask(
    client: RawClient,
    tool: string,
    args: JsonObject,
  ): Promise<string> {
    const [callId = ""] = askedIn(
      await client.begin(
        `call ${tool} ${JSON.stringify(args)}\ntext Finished.`,
      ),
    );
    return callId;
  }
});

describe("N1: settings of ours in the dialect of Gemini CLI", () => {
  const SESSION = "https://devtool.dev/a2a/session-settings/v1alpha";
  let ours: Served;
  beforeAll(async () => {
    ours = await startOurs();
  });
  afterAll(() => ours[Symbol.asyncDispose]());

  it.each([
    [{ autoExecute: true }, { [SESSION]: { allowedTools: ["read_file"] } }],
    [{ autoExecute: false }, { [SESSION]: { allowedTools: "read_file" } }],
    [{ allowedTools: ["read_file"] }, {}],
    [{ "approval-mode": "plan" }, {}],
  ])(
    "are refused where one would be ignored: %j beside %j",
    async (dialects, others) => {
      const mark = join(ours.workspace, "mark");
      const { workspace: workspacePath } = ours;
      const coderAgent = { kind: "agent-settings", workspacePath, ...dialects };
      const response = await callRpc(ours, "message/send", {
        message: {
          kind: "message",
          role: "user",
          messageId: crypto.randomUUID(),
          parts: [{ kind: "text", text: `run touch ${mark}` }],
          metadata: { coderAgent, ...others },
        },
      });
      expect(await response.json()).toMatchObject({
        error: {
          message: expect.stringMatching(
            /stands beside coderAgent|is in the wrong place/,
          ),
        },
      });
      expect(existsSync(mark)).toBe(false);
    },
  );
});

/**
 * Returns the message of the error that a request was answered with; empty for
 * any other answer.
 */
function messageOf(frames: readonly Frame[]): string {
  const [first] = frames;
  const error = first?.error;
  return typeof error === "object" && error !== null && "message" in error
    ? String(error.message)
    : "";
}
