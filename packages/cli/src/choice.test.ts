import { create } from "@bufbuild/protobuf";
import type { AskedToolCall } from "@devtool/client";
import { ConfirmationRequestSchema, ToolCallSchema } from "@devtool/schema";
import { describe, expect, it } from "vitest";
import { answerLine, choicesFor, findChoice } from "./choice.ts";

describe("the keys of a question", () => {
  it.each<readonly [string, readonly string[]]>([
    ["proceed_once, proceed_always, cancel", ["y", "a", "n"]],
    ["proceed_once, reject, cancel", ["y", "n", "x"]],
    ["value:a, value:b, cancel", ["1", "2", "n"]],
  ])("C-L1: have n for the answer that only declines: %s", (ids, keys) => {
    const options = ids.split(", ").map((id) => ({ id, name: id }));
    const confirmationRequest = create(ConfirmationRequestSchema, { options });
    const call = create(ToolCallSchema, { confirmationRequest });
    expect(choicesFor(confirmationRequest, call).map(({ key }) => key)).toEqual(
      keys,
    );
  });

  it("S1: are one character each, and choose no option that is called like a key", () => {
    const hostile = ["y", "n", "1", "2", "", "a", "v"];
    const ids = [...hostile, "proceed_once", "proceed_always"];
    const many = Array.from({ length: 20 }, (_, at) => `proceed_once:${at}`);
    const all = [...ids, "proceed_for_task", ...many, "cancel"];
    const options = all.map((id) => ({ id, name: id }));
    const confirmationRequest = create(ConfirmationRequestSchema, { options });
    const call = create(ToolCallSchema, { confirmationRequest });
    const choices = choicesFor(confirmationRequest, call);
    const keys = choices.map(({ key }) => key);
    expect(keys.filter((key) => key.length !== 1)).toEqual([]);
    expect(new Set(keys).size).toBe(all.length);
    for (const { key, id } of choices) {
      expect(findChoice(choices, key)?.id).toBe(id);
    }
    expect(findChoice(choices, "y")?.id).toBe("proceed_once");
    expect(findChoice(choices, "n")?.id).toBe("cancel");
    expect(findChoice(choices, "")).toBeUndefined();
  });

  it.each([
    ["deny", ["y", "n"]],
    ["reject_once", ["y", "n"]],
    ["abort", ["y", "2"]],
  ])(
    "S1: have n for the way to decline that an agent of others has: %s",
    (id, keys) => {
      const options = ["proceed_once", id].map((one) => ({
        id: one,
        name: one,
      }));
      const confirmationRequest = create(ConfirmationRequestSchema, {
        options,
      });
      const call = create(ToolCallSchema, { confirmationRequest });
      expect(
        choicesFor(confirmationRequest, call).map(({ key }) => key),
      ).toEqual(keys);
    },
  );

  it.each<
    readonly [
      string,
      Pick<AskedToolCall, "argumentsEditable">,
      readonly string[],
    ]
  >([
    ["which can be edited", { argumentsEditable: true }, ["y", "e", "c", "n"]],
    ["which cannot be edited", {}, ["y", "m", "e", "n"]],
  ])(
    "U12: have one way to be asked again about a file, in arguments %s",
    (_arguments, editable, keys) => {
      const ids = ["proceed_once", "modify_with_editor", "cancel"];
      const confirmationRequest = create(ConfirmationRequestSchema, {
        options: ids.map((id) => ({ id, name: id })),
        details: { case: "fileEditDetails", value: { filePath: "/w/a.txt" } },
      });
      const call = {
        ...create(ToolCallSchema, { confirmationRequest }),
        ...editable,
      };
      expect(
        choicesFor(confirmationRequest, call).map(({ key }) => key),
      ).toEqual(keys);
    },
  );

  it.each([
    ["proceed_once:#2", "· answered: allow once"],
    ["allow once", '· answered: "allow once"'],
    ["value:red", '· answered: "value:red"'],
  ])("S1: are told by what the answer %j did", (id, line) => {
    expect(answerLine(id)).toBe(line);
  });
});
