import { create, type JsonObject } from "@bufbuild/protobuf";
import {
  type Part,
  PartSchema,
  Role,
  TaskSchema,
  ToolCallConfirmationSchema,
} from "@devtool/schema";
import { describe, expect, it } from "vitest";
import { elicitationCall, elicitationResponse } from "./elicitation.ts";

const ANSWER = create(ToolCallConfirmationSchema, {
  toolCallId: "q",
  selectedOptionId: "proceed_once",
});
const CONFIRMATION = create(PartSchema, {
  content: { case: "confirmation", value: ANSWER },
});

describe("the question for a form", () => {
  it("tells choices with the same title apart", () => {
    const oneOf = [
      { const: "rm", title: "Tidy up" },
      { const: "ls", title: "Tidy up" },
      { const: "no", title: "Leave it" },
    ];
    const requestedSchema = {
      type: "object",
      properties: { what: { type: "string", oneOf } },
    };
    const params = { mode: "form", message: "Now what?", requestedSchema };
    const options = elicitationCall("q", params)?.call.confirmationRequest
      ?.options;
    expect(options?.map(({ name }) => name)).toEqual([
      "Tidy up (rm)",
      "Tidy up (ls)",
      "Leave it",
      "Decline",
    ]);
  });
});

describe("a form with an odd element", () => {
  const ask = (properties: JsonObject, more: JsonObject = {}) => {
    const requestedSchema = { type: "object", properties, ...more };
    const params = { mode: "form", message: "Why?", requestedSchema };
    return elicitationCall("q", params)?.call.confirmationRequest;
  };

  it("offers the other choices, and names the odd one", () => {
    const asked = ask({ what: { type: "string", enum: ["a", 5, "b"] } });
    expect(asked?.options.map(({ id }) => id)).toEqual([
      "value:a",
      "value:b",
      "cancel",
    ]);
    expect(asked?.details.value).toMatchObject({
      description: expect.stringContaining("without 5, which is no choice"),
    });
  });

  it("offers a value once, with all that it is called", () => {
    const oneOf = [
      { const: "rm", title: "Delete" },
      { const: "rm", title: "Keep" },
    ];
    const asked = ask({ what: { type: "string", oneOf } });
    expect(asked?.options.map(({ name }) => name)).toEqual([
      "Delete / Keep",
      "Decline",
    ]);
  });

  it.each([
    ["toString", { action: "cancel" }],
    [true, { action: "accept", content: { note: "none" } }],
  ])("asks for a required field that it does not describe: %j", (name, end) => {
    const note = { type: "string", default: "none" };
    const params = {
      mode: "form",
      message: "Why?",
      requestedSchema: { properties: { note }, required: [name] },
    };
    expect(elicitationResponse(params, ANSWER, create(TaskSchema, {}))).toEqual(
      end,
    );
    expect(ask({ note }, { required: [name] })?.details.value).toMatchObject({
      description: expect.stringContaining(
        name === true ? "value of:\n- note" : "- toString: any value, required",
      ),
    });
  });
});

describe("the user's answer to a form", () => {
  it("is the text of the message that holds the confirmation", () => {
    expect(answerWith(text("two"), CONFIRMATION, text("words"))).toEqual({
      note: "two\nwords",
    });
  });

  it("B6: keeps the digits of a number", () => {
    const json = text('{"note":9007199254740993}');
    expect(answerWith(CONFIRMATION, json)).toEqual({
      note: "9007199254740993",
    });
  });

  it("has no white space around the value", () => {
    expect(answerWith(CONFIRMATION, text(" yes\n"))).toEqual({ note: "yes" });
  });

  it("keeps the default when it is blank", () => {
    expect(answerWith(CONFIRMATION, text(" \n"))).toEqual({ note: "none" });
  });
});

function text(value: string): Part {
  return create(PartSchema, { content: { case: "text", value } });
}

/** Returns the values that the agent gets for a message of the user. */
function answerWith(...parts: Part[]): JsonObject | undefined {
  const properties = { note: { type: "string", default: "none" } };
  const params = {
    mode: "form",
    message: "Why?",
    requestedSchema: { type: "object", properties },
  };
  const response = elicitationResponse(
    params,
    ANSWER,
    create(TaskSchema, { history: [{ role: Role.USER, parts }] }),
  );
  return "content" in response && response.content
    ? { ...response.content }
    : undefined;
}
