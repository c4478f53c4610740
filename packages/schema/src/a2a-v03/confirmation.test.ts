import { create } from "@bufbuild/protobuf";
import { describe, expect, it } from "vitest";
import { ToolCallConfirmationSchema } from "../gen/devtool/a2a/v1alpha/confirmation_pb.ts";
import { decodeConfirmation, encodeConfirmation } from "./confirmation.ts";
import { decodeMessageSend } from "./send-params.ts";

const ANSWER = { tool_call_id: "c", selected_option_id: "proceed_once" };

describe("the answer to a confirmation request (TOOL-5, TOOL-6)", () => {
  it.each(["", "new\n"])(
    "is decoded with the content %j of a file",
    (newContent) => {
      const confirmation = create(ToolCallConfirmationSchema, {
        toolCallId: "c",
        selectedOptionId: "proceed_once",
        modifiedDetails: { case: "fileDetails", value: { newContent } },
      });
      const json = encodeConfirmation(confirmation);
      expect(json).toEqual({
        ...ANSWER,
        file_details: { new_content: newContent },
      });
      expect(decodeConfirmation(json, "data")).toEqual(confirmation);
    },
  );

  it("may be in lowerCamelCase", () => {
    const camel = {
      toolCallId: "c",
      selectedOptionId: "proceed_once",
      fileDetails: { newContent: "x" },
    };
    expect(encodeConfirmation(decodeConfirmation(camel, "data"))).toEqual({
      ...ANSWER,
      file_details: { new_content: "x" },
    });
  });

  it.each([
    {
      given: {
        ...ANSWER,
        modified_details: { file_details: { new_content: "x" } },
      },
      error:
        "data.modified_details is unknown: it is the name of a oneof, which JSON does not have: write file_details",
    },
    {
      given: { ...ANSWER, new_content: "x" },
      error:
        'data.new_content is unknown: write "file_details": {"new_content"',
    },
    {
      given: { ...ANSWER, file_details: { content: "x" } },
      error: "data.file_details.content is unknown",
    },
    {
      given: { ...ANSWER, file_details: { newContents: "x" } },
      error:
        "data.file_details.newContents is unknown: the fields here are new_content",
    },
    {
      given: { ...ANSWER, file_details: {} },
      error: "data.file_details.new_content is missing",
    },
    {
      given: { ...ANSWER, file_details: null },
      error: "data.file_details is null",
    },
    {
      given: { ...ANSWER, file_details: "x" },
      error: 'data.file_details must be an object, got "x"',
    },
    {
      given: { ...ANSWER, file_details: { new_content: 5 } },
      error: "data.file_details.new_content must be a string, got 5",
    },
    {
      given: { ...ANSWER, file_details: { new_content: "x", newContent: "y" } },
      error: "data.file_details.newContent is given twice",
    },
    {
      given: { ...ANSWER, tool_call_id: 7 },
      error: "data.tool_call_id must be a string, got 7",
    },
    {
      given: { ...ANSWER, reason: "because" },
      error: "data.reason is unknown",
    },
  ])("is rejected if it is $given", ({ given, error }) => {
    expect(() => decodeConfirmation(given, "data")).toThrow(error);
  });

  it.each([
    {
      data: { ToolCallConfirmation: ANSWER },
      error: "message.parts[0].data.ToolCallConfirmation is the name of the",
    },
    {
      data: { tool_call_id: "c" },
      error: "message.parts[0].data.selected_option_id is missing",
    },
    {
      data: { tool_call_id: "c", option: "proceed_once" },
      error: "message.parts[0].data.selected_option_id is missing",
    },
  ])("is not taken for plain data if it is $data", ({ data, error }) => {
    const message = {
      kind: "message",
      messageId: "m",
      role: "user",
      parts: [{ kind: "data", data }],
    };
    expect(() => decodeMessageSend({ message })).toThrow(error);
  });

  it("ignores data with a tool call id and other fields", () => {
    const data = { tool_call_id: "c", rows: [1] };
    const message = {
      kind: "message",
      messageId: "m",
      role: "user",
      parts: [{ kind: "data", data }],
    };
    expect(
      decodeMessageSend({ message }).request.message?.parts[0]?.content,
    ).toEqual({ case: "data", value: data });
  });
});
