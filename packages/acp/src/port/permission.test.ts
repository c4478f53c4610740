import { create } from "@bufbuild/protobuf";
import { ConfirmationRequestSchema, ToolCallSchema } from "@devtool/schema";
import { describe, expect, it } from "vitest";
import { permissionOptions } from "./permission.ts";

/** The kinds of the options with some ids, as an editor gets them. */
function kindsOf(...ids: readonly string[]): Record<string, string> {
  const options = ids.map((id) => ({ id, name: id }));
  const call = create(ToolCallSchema, {
    confirmationRequest: create(ConfirmationRequestSchema, { options }),
  });
  return Object.fromEntries(
    permissionOptions(call).map(({ optionId, kind }) => [optionId, kind]),
  );
}

describe("the options of a question, for an editor", () => {
  it("have the kinds of ACP", () => {
    expect(
      kindsOf(
        "proceed_once",
        "proceed_always",
        "proceed_always_and_save",
        "cancel",
      ),
    ).toEqual({
      proceed_once: "allow_once",
      proceed_always: "allow_always",
      proceed_always_and_save: "allow_always",
      cancel: "reject_once",
    });
  });

  it("that go further than this call, or leave the sandbox, are no plain yes", () => {
    expect(
      kindsOf(
        "proceed_without_sandbox",
        "proceed_for_task",
        "accept_all",
        "acceptForSession",
        "cancel",
      ),
    ).toEqual({
      proceed_without_sandbox: "allow_always",
      proceed_for_task: "allow_always",
      accept_all: "allow_always",
      acceptForSession: "allow_always",
      cancel: "reject_once",
    });
  });

  it("that we do not know are plain ones by how they begin, and otherwise what no client chooses by itself", () => {
    expect(kindsOf("accept", "allow", "value:something", "cancel")).toEqual({
      accept: "allow_once",
      allow: "allow_once",
      "value:something": "reject_always",
      cancel: "reject_once",
    });
  });

  it("leave out the one that sends content back, which ACP cannot carry", () => {
    expect(kindsOf("proceed_once", "modify_with_editor", "cancel")).toEqual({
      proceed_once: "allow_once",
      cancel: "reject_once",
    });
  });
});
