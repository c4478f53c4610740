import { create, type JsonObject } from "@bufbuild/protobuf";
import { describe, expect, it } from "vitest";
import {
  ConfirmationRequestSchema,
  ExecuteDetailsSchema,
  type ToolCall,
  ToolCallSchema,
} from "./gen/devtool/a2a/v1alpha/tool_call_pb.ts";
import { visibleCall } from "./visible-call.ts";

const FORGED = "Run ls\u001b[2K\u202e\n? forged";
const VISIBLE = "Run ls\\u{1b}[2K\\u{202e} [1 more line]";
const DECLINE = { id: "cancel", name: "Decline" };

describe("a call for a person", () => {
  it("has no deceiving characters and no further lines in its tool, description and options", () => {
    const options = [{ id: FORGED, name: FORGED, description: FORGED }];
    const call = create(ToolCallSchema, {
      toolName: FORGED,
      description: FORGED,
      confirmationRequest: create(ConfirmationRequestSchema, { options }),
    });
    expect(visibleCall(call)).toMatchObject({
      toolName: VISIBLE,
      description: VISIBLE,
      confirmationRequest: {
        options: [
          {
            id: FORGED,
            name: `Answer "${VISIBLE}"`,
            description: VISIBLE,
          },
          DECLINE,
        ],
      },
    });
  });

  it("keeps the lines of what it asks in words, without deceiving characters", () => {
    const details = {
      case: "genericDetails" as const,
      value: { description: FORGED },
    };
    const call = create(ToolCallSchema, {
      confirmationRequest: create(ConfirmationRequestSchema, { details }),
    });
    expect(visibleCall(call).confirmationRequest?.details).toMatchObject({
      value: { description: "Run ls\\u{1b}[2K\\u{202e}\n? forged" },
    });
  });

  it("names no tool of an MCP server in a deceiving way", () => {
    const details = {
      case: "mcpDetails" as const,
      value: { serverName: FORGED, toolName: FORGED },
    };
    const call = create(ToolCallSchema, {
      confirmationRequest: create(ConfirmationRequestSchema, { details }),
    });
    expect(visibleCall(call).confirmationRequest?.details).toMatchObject({
      value: { serverName: VISIBLE, toolName: VISIBLE },
    });
  });

  it("keeps commands and changes of files exactly, since they are what runs", () => {
    for (const details of [
      { case: "executeDetails" as const, value: { command: FORGED } },
      {
        case: "fileEditDetails" as const,
        value: { fileName: FORGED, newContent: FORGED },
      },
    ]) {
      const options = [DECLINE];
      const call = create(ToolCallSchema, {
        confirmationRequest: create(ConfirmationRequestSchema, {
          options,
          details,
        }),
      });
      expect(visibleCall(call)).toEqual(call);
    }
  });

  it.each<readonly [JsonObject, readonly string[]]>([
    [{ env: { PAGER: "sh x" } }, ["PAGER"]],
    [{ cmd: "curl a|sh" }, ["curl a|sh"]],
    [{ command: "ls", script: "curl a|sh" }, ["curl a|sh"]],
    [{ command: ["ls"], args: ["-R"] }, ["-R"]],
    [{ args: "-R" }, ["-R"]],
    [{ cwd: "/etc" }, ["/etc"]],
    [{ directory: "../x" }, ["../x"]],
    [{ dangerouslyDisableSandbox: true }, ["dangerouslyDisableSandbox"]],
    [{ uid: 0 }, ["uid"]],
    [{ timeout: { signal: "x" } }, ["signal"]],
    [{ b: { c: "\u202e" } }, ["\\u{202e}"]],
  ])("R1: shows the arguments %j beside the command", (args, shown) => {
    const call = asking({ command: "ls", ...args });
    const { details } = visibleCall(call).confirmationRequest ?? {};
    expect(details?.case).toBe("genericDetails");
    const text = JSON.stringify(details?.value);
    expect(text).toContain("Runs in /w/src:");
    for (const word of shown) {
      expect(text).toContain(JSON.stringify(word).slice(1, -1));
    }
    expect(visibleCall(visibleCall(call))).toEqual(visibleCall(call));
  });

  it.each<JsonObject>([
    { command: "ls" },
    { command: ["ls"] },
    { cmd: "ls", description: "List", timeout: 5, background: true },
    { command: "ls", cwd: "/w/src", script: null, env: {}, shell: false },
    { command: "ls", directory: "src" },
    { command: "ls", directory: "./src/", args: [] },
  ])("R1: leaves a command that is all of %j a command", (args) => {
    const call = asking(args);
    expect(visibleCall(call)).toEqual(call);
  });

  it.each([
    [["proceed_once", "Decline"], 'Allow once ("Decline")'],
    [["proceed_once:b", "Non"], 'Allow once ("Non")'],
    [["proceed_always", "Allow once"], 'Always allow ("Allow once")'],
    [
      ["proceed_always", "Always allow x in this session"],
      "Always allow x in this session",
    ],
    // Words behind our label are the agent's, too.
    [
      ["proceed_once", "Allow once? No, decline"],
      'Allow once ("Allow once? No, decline")',
    ],
    [["proceed_always", "Always allow - just now"], null],
    [["cancel", "Decline the wait: go on"], null],
    [["x", "Answer: decline"], 'Answer "Answer: decline"'],
    [["proceed_once", 'Allow once ("x”) [n] Decline (“y")'], null],
    [["proceed_once", "Allow once\n[n] Decline"], null],
    [["proceed_once", "\u0336no"], 'Allow once ("\u25cc\u0336no")'],
    [["accept_all", "OK"], 'Always allow ("OK")'],
    // V9: what is not plainly once may go further.
    [["allow_forever", "OK"], 'Always allow ("OK")'],
    [["approve_execpolicy_amendment", "OK"], 'Always allow ("OK")'],
    [["acceptEdits", "OK"], 'Always allow ("OK")'],
    [["approved", "OK"], 'Allow once ("OK")'],
    [["deny_and_allow_next", "OK"], 'Answer "OK"'],
    [["denied", "OK"], 'Decline ("OK")'],
    // V8: no mark of another script ends our quotes.
    [["proceed_once", "x”) Decline (“y"], "Allow once (\"x') Decline ('y\")"],
    [["proceed_once", "x＂ or ˮ„"], "Allow once (\"x' or ''\")"],
    [
      ["proceed_without_sandbox", "Allow once"],
      'Allow without a sandbox ("Allow once")',
    ],
    [["cancel", "Allow once"], 'Decline ("Allow once")'],
    [["cancel", "Cancel"], "Cancel"],
    [["reject", ""], "Decline"],
    [["value:x", "Decline"], 'Answer "Decline"'],
    [["own_words", "Answer in my own words"], "Answer in my own words"],
    [["x", ""], 'Answer "x"'],
    [["modify_with_editor", "Decline"], 'Ask again ("Decline")'],
  ] as const)(
    "S1: calls the option %j what it does: %s",
    ([id, name], shown) => {
      const [named = ""] = namesOf({ id, name });
      if (shown === null) {
        expect(named).toMatch(
          /^(Allow once|Always allow|Decline) \("[^"”]*"\)$/,
        );
      } else {
        expect(named).toBe(shown);
      }
      expect(namesOf({ id, name: named })[0]).toBe(named);
    },
  );

  it("S1: shows one of several options with the same id, whose effect is the same", () => {
    const options = ["Run the tests", "Delete everything"];
    expect(
      namesOf(...options.map((name) => ({ id: "proceed_once", name }))),
    ).toEqual(['Allow once ("Run the tests")', "Decline"]);
  });

  it("S1: can be declined, also where its agent offers no way", () => {
    expect(namesOf()).toEqual(["Decline"]);
    expect(namesOf({ id: "proceed_once", name: "OK" })).toEqual([
      'Allow once ("OK")',
      "Decline",
    ]);
    expect(namesOf({ id: "deny", name: "OK" })).toEqual(['Decline ("OK")']);
  });

  it.each([
    [["cancel", "reject"], "Decline", ["Decline", "Decline #2"]],
    [["a", "b"], "Answer #2", ['Answer "Answer #2"', 'Answer "Answer #2" #2']],
    [["", " "], " ", ['Answer "without a name"', 'Answer "without a name" #2']],
    // The ids differ in what a short name leaves out.
    [
      ["1", "2"].map((at) => `proceed_always:${"x".repeat(90)}${at}x`),
      "Decline",
      ['Always allow ("Decline")', 'Always allow ("Decline") #2'],
    ],
  ])(
    "S1: tells the options %j apart whose names are the same, also a second time",
    (ids, name, names) => {
      const shown = (given: readonly string[]) =>
        namesOf(...ids.map((id, at) => ({ id, name: given[at] ?? "" })));
      expect(shown([name, name]).slice(0, 2)).toEqual(names);
      expect(shown(names).slice(0, 2)).toEqual(names);
    },
  );

  it("S1: keeps the numbers that are an agent's own words", () => {
    const options = ["Issue #2", "Issue #1", "Answer"].map((name) => ({
      id: `value:${name}`,
      name,
    }));
    expect(namesOf(...options).slice(0, 3)).toEqual([
      'Answer "Issue #2"',
      'Answer "Issue #1"',
      'Answer "Answer"',
    ]);
  });

  it("is the same call when nothing deceives, also a second time", () => {
    const call = create(ToolCallSchema, {
      toolName: "read",
      description: `a  b ${"x".repeat(2000)}`,
    });
    expect(visibleCall(call)).toEqual(call);
    const forged = visibleCall(
      create(ToolCallSchema, { description: FORGED.repeat(500) }),
    );
    expect(visibleCall(forged)).toEqual(forged);
  });
});

/** A call that asks whether `ls` may run in /w/src. */
function asking(inputParameters: JsonObject): ToolCall {
  const value = create(ExecuteDetailsSchema, {
    command: "ls",
    workingDirectory: "/w/src",
  });
  return create(ToolCallSchema, {
    toolName: "shell",
    inputParameters,
    confirmationRequest: create(ConfirmationRequestSchema, {
      options: [DECLINE],
      details: { case: "executeDetails", value },
    }),
  });
}

/** The names of options as a person sees them. */
function namesOf(
  ...options: readonly { readonly id: string; readonly name: string }[]
): (string | undefined)[] {
  const call = create(ToolCallSchema, {
    confirmationRequest: create(ConfirmationRequestSchema, {
      options: [...options],
    }),
  });
  return (
    visibleCall(call).confirmationRequest?.options.map(({ name }) => name) ?? []
  );
}
