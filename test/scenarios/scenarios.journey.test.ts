import { rm, writeFile } from "node:fs/promises";
import { join } from "node:path";
import {
  ApprovalMode,
  TaskState,
  type ToolCall,
  ToolCallStatus,
} from "@devtool/schema";
import { describe, expect, it } from "vitest";
import { variantsOf } from "../depth.ts";
import { type Choice, Conversation } from "./conversation.ts";
import {
  clientOf,
  type Dialect,
  Ground,
  lastContents,
  toldOf,
} from "./ground.ts";

const DIALECTS: readonly Dialect[] = ["Connect", "A2A 0.3", "A2A 1.0"];
const { COMPLETED, FAILED, INPUT_REQUIRED } = TaskState;
/** The smallest PNG, more or less. */
const PNG = Buffer.from("89504e470d0a1a0a0000000d49484452", "hex");

/** Five ways in which a model fails. */
const FAILURES = [
  {
    name: "twice with 503, then well",
    prompt: "fail 503 2\ntext well",
    state: COMPLETED,
    error: /^$/,
    text: "well",
  },
  {
    name: "with 429 for ever",
    prompt: "fail 429",
    state: FAILED,
    error: /status 429/,
    text: "",
  },
  {
    name: "in the middle, behind a call that must not run",
    prompt: "text so\nwrite a.txt x\ncut",
    state: FAILED,
    error: /ended in the middle/,
    text: "so",
  },
  {
    name: "with silence",
    prompt: "text so\nhang",
    state: FAILED,
    error: /300 ms/,
    text: "so",
  },
  {
    name: "since it must not say it",
    prompt: "text so\nfinish SAFETY",
    state: FAILED,
    error: /safety/i,
    text: "so",
  },
];

describe.each(variantsOf("dialects", DIALECTS, 1))(
  "over %s, with Gemini",
  (dialect) => {
    it("several files are edited in one turn: one edit taken, one declined, two changed by the user", async () => {
      await using ground = await Ground.prepare({
        "b.txt": "old\n",
        "c.txt": "left\n",
      });
      await using server = await ground.serve();
      const talk = new Conversation(clientOf(server, dialect));
      await talk.say(
        "write a.txt one\\n\nedit b.txt old => new\nedit c.txt left => right\nwrite d.txt draft\\n\ntext Done.",
      );
      expect(talk.task.state).toBe(INPUT_REQUIRED);
      const choices: Record<string, Choice> = {
        "a.txt": { option: "proceed_once" },
        "b.txt": { option: "cancel" },
        "c.txt": { option: "proceed_once", newContent: "mine\n" },
        "d.txt": { option: "modify_with_editor", newContent: "better\n" },
      };
      await talk.answer((call) => choices[fileOf(call)] ?? "");

      expect(talk.asked).toMatchObject([
        {
          confirmationRequest: {
            details: { value: { fileName: "d.txt", newContent: "better\n" } },
          },
        },
      ]);
      expect(await ground.read("d.txt")).toBeUndefined();
      await talk.answer(() => "proceed_once");

      expect([talk.task.state, talk.text]).toEqual([COMPLETED, "Done."]);
      const files = await Promise.all(
        Object.keys(choices).map((name) => ground.read(name)),
      );
      expect(files).toEqual(["one\n", "old\n", "mine\n", "better\n"]);
      expect(toldOf(ground.fake)).toMatchObject([
        { output: expect.stringContaining("+one") },
        { error: expect.stringContaining("The user declined this call") },
        {
          output: expect.stringContaining("+mine"),
          note: expect.stringContaining(
            "The user changed the proposed content",
          ),
        },
        {
          output: expect.stringContaining("+better"),
          note: expect.stringContaining(
            "The user changed the proposed content",
          ),
        },
      ]);
      expect(argsOf(ground)).toMatchObject([
        {},
        {},
        { new_string: "mine\n" },
        { content: "better\n" },
      ]);
    });

    it("files are read side by side, without a question", async () => {
      await using ground = await Ground.prepare({
        "a.txt": "A\n",
        "b.txt": "B\n",
        "c.txt": "C\n",
      });
      await using server = await ground.serve();
      const talk = new Conversation(clientOf(server, dialect));
      await talk.say("read a.txt\nread b.txt\nread c.txt\ntext Read.");
      expect([talk.task.state, talk.text]).toEqual([COMPLETED, "Read."]);
      expect(toldOf(ground.fake).map(({ output }) => output)).toEqual([
        "A\n",
        "B\n",
        "C\n",
      ]);
      const moves = talk.events.flatMap(({ payload }) =>
        payload.case === "toolCall" ? [payload.value.status] : [],
      );
      const [begun, ended] = [
        ToolCallStatus.EXECUTING,
        ToolCallStatus.SUCCEEDED,
      ];
      expect(moves.lastIndexOf(begun)).toBeLessThan(moves.indexOf(ended));
    });

    it("a command fails, and the model mends what it did and runs it again", async () => {
      await using ground = await Ground.prepare({ "check.sh": "exit 3\n" });
      await using server = await ground.serve();
      const talk = new Conversation(clientOf(server, dialect));
      const fix =
        "text It ends with 3.\nedit check.sh exit 3 => echo well\nrun bash check.sh\ntext Mended.";
      await talk.say(`run bash check.sh\n${fix}`);
      await talk.answer(() => "proceed_once");
      expect(talk.calls[0]?.result).toMatchObject({
        case: "error",
        value: { statusCode: 3 },
      });
      expect(toldOf(ground.fake)).toMatchObject([
        { error: { type: "execution_failed" } },
      ]);
      await talk.answer(() => "proceed_once");
      expect([talk.task.state, talk.text]).toEqual([
        COMPLETED,
        "It ends with 3.Mended.",
      ]);
      expect(toldOf(ground.fake).at(-1)?.output).toContain("well");
    });

    it("declining a call cancels what only waited behind it", async () => {
      await using ground = await Ground.prepare({ "a.txt": "A\n" });
      await using server = await ground.serve({
        approvalMode: ApprovalMode.AUTO_EDIT,
      });
      const talk = new Conversation(clientOf(server, dialect));
      await talk.say(
        "write before.txt x\nrun touch ran.txt\nwrite behind.txt x\nread a.txt\ntext As you like.",
      );
      expect(talk.asked.map(({ toolName }) => toolName)).toEqual([
        "run_shell_command",
      ]);
      await talk.answer(() => "cancel");
      expect(talk.outcomes).toEqual([
        "write_file SUCCEEDED",
        "run_shell_command CANCELLED",
        "write_file CANCELLED",
        "read_file CANCELLED",
      ]);
      const files = ["before.txt", "ran.txt", "behind.txt"];
      expect(await Promise.all(files.map((name) => ground.read(name)))).toEqual(
        ["x", undefined, undefined],
      );
      expect(talk.text).toBe("As you like.");
    });

    it("the model is chosen by the session and by the message, and gets pictures as they are", async () => {
      await using ground = await Ground.prepare();
      await using server = await ground.serve();
      const talk = new Conversation(clientOf(server, dialect), {
        sessionSettings: { model: "gemini-session" },
      });
      await talk.say("text one");
      const models = (): string[] =>
        ground.fake.requests().map(({ model }) => model);
      expect([models().at(-1), talk.task.model]).toEqual([
        "gemini-session",
        "gemini-session",
      ]);
      const file = {
        name: "x.png",
        mediaType: "image/png",
        source: { case: "bytes" as const, value: PNG },
      };
      const text = { content: { case: "text" as const, value: "text two" } };
      await talk.say("", {
        model: "gemini-message",
        parts: [{ content: { case: "file", value: file } }, text],
      });
      expect([models().at(-1), talk.task.model]).toEqual([
        "gemini-message",
        "gemini-message",
      ]);
      const inline = lastContents(ground.fake).flatMap(({ parts }) =>
        parts.flatMap(({ inlineData }) => inlineData ?? []),
      );
      expect(inline).toEqual([
        { mimeType: "image/png", data: PNG.toString("base64") },
      ]);
      await talk.say("text three");
      expect(models().at(-1)).toBe("gemini-session");
      // A task that has ended is closed in A2A 1.0: the conversation goes on in a
      // new one (STREAM-5).
      expect(talk.text).toBe(dialect === "A2A 1.0" ? "three" : "onetwothree");
    });

    it("plan mode changes nothing and asks nothing", async () => {
      await using ground = await Ground.prepare({ "a.txt": "A\n" });
      await using server = await ground.serve();
      const plan = { sessionSettings: { approvalMode: ApprovalMode.PLAN } };
      const talk = new Conversation(clientOf(server, dialect), plan);
      await talk.say(
        "read a.txt\nwrite b.txt x\nrun touch c.txt\ntext That is the plan.",
      );
      expect(talk.task.state).toBe(COMPLETED);
      expect(talk.outcomes).toEqual([
        "read_file SUCCEEDED",
        "write_file FAILED",
        "run_shell_command FAILED",
      ]);
      const [, ...denied] = toldOf(ground.fake);
      const error = {
        type: "policy_violation",
        message: expect.stringContaining("plan mode"),
      };
      expect(denied).toMatchObject([{ error }, { error }]);
      expect(await ground.read("b.txt")).toBeUndefined();
    });

    it("an operator's rule denies in its own words, even what the user approved for good", async () => {
      await using ground = await Ground.prepare();
      const client = async (
        policyFiles: readonly string[],
        prompt: string,
      ): Promise<Conversation> => {
        await using server = await ground.serve({ policyFiles });
        const talk = new Conversation(clientOf(server, dialect));
        await talk.say(prompt);
        if (talk.asked.length > 0) {
          await talk.answer(() => "proceed_always_and_save");
        }
        return talk;
      };
      await client([], "run touch once.txt");
      expect(await ground.read("once.txt")).toBe("");
      await rm(ground.path("once.txt"));
      const policy = join(ground.workspace, "../operator.toml");
      const rule =
        'command_prefix = "touch"\ndecision = "deny"\ndeny_message = "touching is for people"';
      await writeFile(policy, `[[rule]]\n${rule}\n`, { mode: 0o600 });
      const talk = await client([policy], "run touch once.txt\ntext So be it.");
      expect([talk.task.state, talk.outcomes]).toEqual([
        COMPLETED,
        ["run_shell_command FAILED"],
      ]);
      const error = {
        type: "policy_violation",
        message: expect.stringContaining("touching is for people"),
      };
      expect(toldOf(ground.fake)).toMatchObject([{ error }]);
      expect(await ground.read("once.txt")).toBeUndefined();
    });

    it("what is approved permanently runs without asking in a later session of a restarted server, and nothing else does", async () => {
      await using ground = await Ground.prepare();
      const play = async (prompt: string): Promise<Conversation> => {
        await using server = await ground.serve();
        const talk = new Conversation(clientOf(server, dialect));
        await talk.say(prompt);
        if (talk.asked.length > 0) {
          await talk.answer(() => "proceed_always_and_save");
        }
        return talk;
      };
      const saved = await play("run touch a.txt\nwrite notes.txt one");
      expect(saved.outcomes).toEqual([
        "run_shell_command SUCCEEDED",
        "write_file SUCCEEDED",
      ]);
      await using server = await ground.serve();
      const talk = new Conversation(clientOf(server, dialect));
      await talk.say("run touch a.txt\nwrite notes.txt two\ntext Same.");
      expect([
        talk.task.state,
        talk.asked,
        await ground.read("notes.txt"),
      ]).toEqual([COMPLETED, [], "two"]);
      await talk.say("run touch b.txt\nwrite other.txt two");
      expect(talk.asked.map(({ toolName }) => toolName)).toEqual([
        "run_shell_command",
        "write_file",
      ]);
    });

    it.each(FAILURES)(
      "the model fails: $name",
      async ({ prompt, state, error, text }) => {
        await using ground = await Ground.prepare();
        await using server = await ground.serve(
          {},
          { timeouts: { idleMs: 300 } },
        );
        const talk = new Conversation(clientOf(server, dialect));
        await talk.say(prompt);
        expect([talk.task.state, talk.text]).toEqual([state, text]);
        expect(talk.task.error).toMatch(error);
        expect(talk.outcomes).toEqual([]);
      },
    );
  },
);

function fileOf({ confirmationRequest }: ToolCall): string {
  return confirmationRequest?.details.case === "fileEditDetails"
    ? confirmationRequest.details.value.fileName
    : "";
}

function argsOf({ fake }: Ground) {
  const parts = lastContents(fake).flatMap((content) => content.parts);
  return parts.flatMap(({ functionCall }) =>
    functionCall ? [functionCall.args] : [],
  );
}
