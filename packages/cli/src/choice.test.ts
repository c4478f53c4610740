import { create } from "@bufbuild/protobuf";
import { ConfirmationRequestSchema, ToolCallSchema } from "@devtool/schema";
import { describe, expect, it } from "vitest";
import { choicesFor } from "./choice.ts";

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
});
