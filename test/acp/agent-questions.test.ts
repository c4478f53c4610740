import {
  mkdirSync,
  readdirSync,
  renameSync,
  rmSync,
  symlinkSync,
} from "node:fs";
import type { PermissionOption } from "@agentclientprotocol/sdk";
import { pendingToolCalls } from "@devtool/client";
import {
  AuditAction,
  findToolCall,
  TaskState,
  ToolCallStatus,
} from "@devtool/schema";
import type { PermissionDecision } from "@devtool/server/agent";
import { describe, expect, it } from "vitest";
import { AcpWorld, type AcpWorldOptions } from "./agent/world.ts";

const world = (options: AcpWorldOptions = {}): Promise<AcpWorld> =>
  new AcpWorld(options).start();
const ONCE: PermissionOption = {
  optionId: "go-on",
  name: "Go on",
  kind: "allow_once",
};
const ALWAYS: PermissionOption = {
  optionId: "for-good",
  name: "For good",
  kind: "allow_always",
};
const NO: PermissionOption = {
  optionId: "leave-it",
  name: "Leave it",
  kind: "reject_once",
};
const ALLOW = (): PermissionDecision => ({
  case: "allow",
  rule: "operator-1:1",
});

/**
 * The line that makes the fake agent ask with some options, and report the
 * answer.
 */
function permit(
  options: readonly PermissionOption[],
  call: object = {},
): string {
  return `permit ${JSON.stringify({ options, ...call })}`;
}

function selected(optionId: string): string {
  return JSON.stringify({ outcome: { outcome: "selected", optionId } });
}

describe("a question of an ACP agent", () => {
  it.each(["link", "directory"])(
    "S2: does nothing with its yes once a %s has taken the place of the workspace",
    async (kind) => {
      await using acp = await world();
      const { workspace, directory } = acp;
      for (const line of ["edit id changed", "job id", "diff id changed"]) {
        const { task } = await acp.say(line);
        renameSync(workspace, `${workspace}-old`);
        if (kind === "link") {
          symlinkSync(directory, workspace);
        } else {
          mkdirSync(workspace);
        }
        const answered = await acp.answer(task, "proceed_once");
        expect(answered.task).toMatchObject({
          state: TaskState.FAILED,
          error: expect.stringContaining(
            `workspace "${workspace}" is not where it was`,
          ),
        });
        for (const path of [`${workspace}/`, `${workspace}-old`]) {
          expect(readdirSync(path)).toEqual([]);
        }
        rmSync(workspace, { recursive: true });
        renameSync(`${workspace}-old`, workspace);
      }
    },
  );

  it.each([
    ["proceed_once", selected("go-on")],
    ["proceed_always", selected("for-good")],
    ["cancel", selected("leave-it")],
  ])("is answered with the agent's own id for %s", async (optionId, answer) => {
    await using acp = await world();
    const asked = await acp.say(permit([NO, ALWAYS, ONCE]));
    expect((await acp.answer(asked.task, optionId)).text).toBe(answer);
  });

  it("that offers no way to decline is cancelled by a user who declines", async () => {
    await using acp = await world();
    const asked = await acp.say(permit([ONCE, ALWAYS]));
    const { text, task } = await acp.answer(asked.task, "cancel");
    expect([text, findToolCall(task, "call-1")?.status]).toEqual([
      '{"outcome":{"outcome":"cancelled"}}',
      ToolCallStatus.CANCELLED,
    ]);
  });

  it("shows what would deceive as what it is, in its title and in its command", async () => {
    await using acp = await world();
    const call = { title: "ls\u202e\u001b[2J", rawInput: { command: "ls" } };
    const asked = await acp.say(
      permit([{ ...ONCE, name: "Y\u202ees" }, NO], call),
    );
    expect(findToolCall(asked.task, "call-1")).toMatchObject({
      description: "ls\\u{202e}\\u{1b}[2J",
      confirmationRequest: {
        options: [
          { name: 'Allow once ("Y\\u{202e}es")' },
          { name: 'Decline ("Leave it")' },
        ],
      },
    });
    const other = await acp.say(
      permit([ONCE, NO], {
        title: "list",
        rawInput: { command: "rm \u202ea" },
      }),
    );
    expect(findToolCall(other.task, "call-1")?.description).toBe(
      "Run rm \\u{202e}a",
    );
  });

  it("is answered by a rule with what allows this call only: the user decides where there is no such option", async () => {
    await using acp = await world({ permission: ALLOW });
    expect((await acp.say(permit([ALWAYS, ONCE, NO]))).text).toBe(
      selected("go-on"),
    );
    const wide = {
      optionId: "proceed_without_sandbox",
      name: "Run it",
      kind: "allow_once",
    } as const;
    for (const options of [
      [ALWAYS, NO],
      [wide, NO],
      // S1: a rule says nothing about which of two is meant.
      [ONCE, { ...ONCE, optionId: "other", name: "Delete it" }, NO],
    ]) {
      const asked = await acp.say(permit(options));
      expect(TaskState[asked.task.state]).toBe("INPUT_REQUIRED");
      expect((await acp.answer(asked.task, "cancel")).text).toBe(
        selected("leave-it"),
      );
    }
  });

  it("is in the audit as the rule's where a rule answered, and as the user's where the user did", async () => {
    const permission = ({ input }: { input: object }): PermissionDecision =>
      "byRule" in input ? ALLOW() : { case: "ask" };
    await using acp = await world({ isDurable: true, permission });
    await acp.say(permit([ONCE, NO], { rawInput: { byRule: true } }));
    const asked = await acp.say(permit([ONCE, NO]));
    await acp.answer(asked.task, "proceed_once");
    const declined = await acp.say(permit([ONCE, NO]));
    await acp.answer(declined.task, "cancel");
    const records = (await acp.audit()).map(({ action, rule, optionId }) => [
      AuditAction[action],
      rule,
      optionId,
    ]);
    // The agent says of none of them how it ended.
    expect(records.filter(([action]) => action !== "CANCELLED")).toEqual([
      ["ALLOWED", "operator-1:1", ""],
      ["STARTED", "operator-1:1", ""],
      ["ASKED", "", ""],
      ["APPROVED", "", "proceed_once"],
      ["STARTED", "", ""],
      ["ASKED", "", ""],
      ["DECLINED", "", "cancel"],
    ]);
  });

  it("S1: says what its answers do, and does that, whatever the agent calls them", async () => {
    await using acp = await world();
    const swapped = [
      { ...ONCE, name: "Decline" },
      { ...ALWAYS, name: "Allow once" },
      { ...NO, name: "Allow once" },
    ];
    const asked = await acp.say(permit(swapped));
    const [call] = pendingToolCalls(asked.task);
    expect(call?.confirmationRequest?.options).toMatchObject([
      { id: "proceed_once", name: 'Allow once ("Decline")' },
      {
        id: "proceed_always",
        name: 'Always allow ("Allow once")',
        description: '"the agent decides which later calls it covers"',
      },
      { id: "cancel", name: 'Decline ("Allow once")' },
    ]);
    expect((await acp.answer(asked.task, "cancel")).text).toBe(
      selected("leave-it"),
    );
  });

  it("S1: names its options without an agent's words that look like other answers", async () => {
    await using acp = await world();
    const forged = "x (Decline), cancel (Allow once";
    const options = [ONCE, { ...ONCE, optionId: forged, name: "B" }, NO];
    const asked = await acp.say(permit(options));
    const [call] = pendingToolCalls(asked.task);
    const ids = call?.confirmationRequest?.options.map(({ id }) => id);
    expect(ids).toEqual(["proceed_once", "proceed_once:#2", "cancel"]);
    expect((await acp.answer(asked.task, "proceed_once:#2")).text).toBe(
      selected(forged),
    );
    const field = { type: "string", enum: ["red", "a (Decline), cancel (b"] };
    const form = {
      mode: "form",
      message: "Which?",
      requestedSchema: { type: "object", properties: { color: field } },
    };
    const filled = await acp.say(`form ${JSON.stringify(form)}`);
    const [question] = pendingToolCalls(filled.task);
    const values = question?.confirmationRequest?.options.map(({ id }) => id);
    expect(values).toEqual(["value:red", "value:#2", "cancel"]);
    expect(
      JSON.parse((await acp.answer(filled.task, "value:#2")).text),
    ).toEqual({
      action: "accept",
      content: { color: "a (Decline), cancel (b" },
    });
  });

  it("S1: is another one when it comes a second time with other answers, for which the first answer does not count", async () => {
    await using acp = await world();
    const toolCall = { toolCallId: "same", title: "make", kind: "execute" };
    const tests = { ...ONCE, optionId: "tests", name: "Run the tests" };
    const remove = { ...ONCE, optionId: "remove", name: "Delete it" };
    const asked = await acp.say(
      `permits ${JSON.stringify(
        [tests, remove].map((once) => ({ ...toolCall, options: [once, NO] })),
      )}\nwait`,
    );
    const both = async () => {
      const { task } = await acp.client.tasks.getTask({
        taskId: asked.task.id,
      });
      return task ? pendingToolCalls(task) : [];
    };
    await expect.poll(async () => (await both()).length).toBe(2);
    expect(
      (await both()).map(({ confirmationRequest }) => [
        confirmationRequest?.options[0]?.name,
      ]),
    ).toEqual([['Allow once ("Run the tests")'], ['Allow once ("Delete it")']]);
    await acp.cancel(asked.task);
  });

  it("S1: shows what changes before a title that is long", async () => {
    await using acp = await world();
    const title = "One more line.\n".repeat(300);
    const content = ["a", "b"].map((path) => ({
      type: "diff",
      path: `${acp.workspace}/${path}`,
      oldText: null,
      newText: "new",
    }));
    const locations = [{ path: "/etc/passwd" }];
    const call = { kind: "edit", title, rawInput: {}, content, locations };
    const { task } = await acp.say(permit([ONCE, NO], call));
    const [asked] = pendingToolCalls(task);
    const { value } = asked?.confirmationRequest?.details ?? {};
    expect(value).toMatchObject({
      description: expect.stringMatching(
        /^.*\/etc\/passwd.*\n(.*\n){1,12}One more/,
      ),
    });
    await acp.cancel(task);
  });

  it.each(["cancel", "proceed_once"])(
    "is followed by the text that the user added to the answer %s",
    async (optionId) => {
      await using acp = await world();
      const asked = await acp.say(`${permit([ONCE, NO])}\nsay after`);
      const { text } = await acp.answer(asked.task, optionId, "say because");
      expect(text).toMatch(/after\s*because$/);
    },
  );

  it("takes one answer", async () => {
    await using acp = await world();
    const asked = await acp.say(permit([ONCE, NO]));
    await acp.answer(asked.task, "proceed_once");
    await expect(acp.answer(asked.task, "cancel")).rejects.toThrow(
      'tool call "call-1" was already answered with "proceed_once"',
    );
  });

  it("that the agent has withdrawn takes no answer", async () => {
    await using acp = await world();
    const asked = await acp.say("withdraw make\nsay after");
    const { id: taskId } = asked.task;
    const state = async (): Promise<unknown> =>
      TaskState[(await acp.client.tasks.getTask({ taskId })).task?.state ?? 0];
    await expect.poll(state, { timeout: 60_000 }).toBe("COMPLETED");
    await expect(acp.answer(asked.task, "proceed_once")).rejects.toThrow(
      'tool call "call-1" has already ended',
    );
  });

  it("of a turn that was canceled takes no answer", async () => {
    await using acp = await world();
    const asked = await acp.say(permit([ONCE, NO]));
    await acp.cancel(asked.task);
    await expect(acp.answer(asked.task, "proceed_once")).rejects.toThrow(
      'tool call "call-1" has already ended',
    );
  });
});

describe("a form that an ACP agent has its user fill in", () => {
  it.each([
    ["proceed_once", "Ada", '{"action":"accept","content":{"name":"Ada"}}'],
    [
      "proceed_once",
      '{"name": "Ada"}',
      '{"action":"accept","content":{"name":"Ada"}}',
    ],
    ["proceed_once", "", '{"action":"cancel"}'],
    ["cancel", "Ada", '{"action":"decline"}'],
  ])(
    "is answered by %s and the text %j with %s",
    async (optionId, words, answer) => {
      await using acp = await world();
      const asked = await acp.say("elicit Who are you?");
      expect([
        TaskState[asked.task.state],
        pendingToolCalls(asked.task),
      ]).toMatchObject([
        "INPUT_REQUIRED",
        [{ toolName: "elicitation", description: "Who are you?" }],
      ]);
      expect((await acp.answer(asked.task, optionId, words)).text).toBe(answer);
    },
  );

  it("has no characters that deceive its user", async () => {
    await using acp = await world();
    const { task } = await acp.say("elicit Who are\u202e you?\u001b[2K");
    expect(pendingToolCalls(task)).toMatchObject([
      {
        description: "Who are\\u{202e} you?\\u{1b}[2K",
        confirmationRequest: {
          details: {
            value: {
              description: expect.stringMatching(
                /^Who are\\u\{202e\} you\?\\u\{1b\}\[2K\n/,
              ),
            },
          },
        },
      },
    ]);
    await acp.cancel(task);
  });

  it("offers the values of its only field by their titles", async () => {
    await using acp = await world();
    const color = {
      type: "string",
      oneOf: ["red", "blue"].map((value) => ({
        const: value,
        title: `In ${value}`,
      })),
    };
    const asked = await acp.say(form({ color }));
    const [call] = pendingToolCalls(asked.task);
    expect(
      call?.confirmationRequest?.options.map(({ id, name }) => [id, name]),
    ).toEqual([
      ["value:red", 'Answer "In red"'],
      ["value:blue", 'Answer "In blue"'],
      ["cancel", "Decline"],
    ]);
    expect((await acp.answer(asked.task, "value:blue")).text).toBe(
      '{"action":"accept","content":{"color":"blue"}}',
    );
  });

  it("S1: has no choice that looks like the answer which declines", async () => {
    await using acp = await world();
    const { task } = await acp.say(
      form({ what: { type: "string", enum: ["Decline", "Allow once"] } }),
    );
    const [call] = pendingToolCalls(task);
    expect(call?.confirmationRequest?.options.map(({ name }) => name)).toEqual([
      'Answer "Decline"',
      'Answer "Allow once"',
      "Decline",
    ]);
    await acp.cancel(task);
  });

  it("says of each field which values it takes, and what is sent without an answer", async () => {
    await using acp = await world();
    const asked = await acp.say(
      form({
        size: {
          type: "integer",
          title: "Size",
          minimum: 1,
          maximum: 9,
          default: 3,
        },
        mail: { type: "string", format: "email", maxLength: 40 },
        level: { type: "string", enum: ["low", "high"] },
        tags: {
          type: "array",
          items: {
            anyOf: [
              { const: "a", title: "First" },
              { const: "b", title: "b" },
            ],
          },
          maxItems: 2,
        },
      }),
    );
    const [call] = pendingToolCalls(asked.task);
    expect(call?.confirmationRequest?.details).toMatchObject({
      value: {
        description: [
          "Tell.",
          "Answer with a JSON object that has:",
          "- size: Size, integer, at least 1, at most 9, default 3",
          "- mail: string, email, maximum length 40",
          "- level: string, one of low | high",
          "- tags: array, any of a (First) | b, maximum number 2",
        ].join("\n"),
      },
    });
    const { text } = await acp.answer(
      asked.task,
      "proceed_once",
      '{"tags": ["a", "b"], "level": "low"}',
    );
    expect(JSON.parse(text)).toEqual({
      action: "accept",
      content: { size: 3, level: "low", tags: ["a", "b"] },
    });
  });

  it.each([
    ['["a", "b"]', ["a", "b"]],
    ["a, b", ["a", "b"]],
  ])("takes the list %s for its only field", async (words, list) => {
    await using acp = await world();
    const asked = await acp.say(
      form({
        tags: { type: "array", items: { type: "string", enum: ["a", "b"] } },
      }),
    );
    const { text } = await acp.answer(asked.task, "proceed_once", words);
    expect(JSON.parse(text)).toEqual({
      action: "accept",
      content: { tags: list },
    });
  });

  it("may be a page to open, whose address is shown as a browser reads it, and is declined in a mode of later versions", async () => {
    await using acp = await world();
    const page = {
      mode: "url",
      elicitationId: "e1",
      url: "https://login.example/start",
      message: "Log in.",
    };
    const asked = await acp.say(`form ${JSON.stringify(page)}`);
    const [call] = pendingToolCalls(asked.task);
    expect(call?.confirmationRequest?.details).toMatchObject({
      value: {
        description:
          "The agent asks to open https://login.example/start\nLog in.",
      },
    });
    expect((await acp.answer(asked.task, "proceed_once")).text).toBe(
      '{"action":"accept"}',
    );
    const { text } = await acp.say(
      `form ${JSON.stringify({ ...page, mode: "hologram" })}`,
    );
    expect(text).toBe('{"action":"decline"}');
  });
});

/** A line that has the fake agent ask with a form of these fields. */
function form(properties: object): string {
  const requestedSchema = { type: "object", properties };
  return `form ${JSON.stringify({ mode: "form", message: "Tell.", requestedSchema })}`;
}
