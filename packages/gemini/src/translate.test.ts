import { create, type MessageInitShape } from "@bufbuild/protobuf";
import { readThought } from "@devtool/coding-agent/model";
import {
  type Message,
  MessageSchema,
  Role,
  ToolCallStatus,
} from "@devtool/schema";
import { describe, expect, it } from "vitest";
import { encodeContents, encodeTools, signContents } from "./translate.ts";

type Parts = NonNullable<MessageInitShape<typeof MessageSchema>["parts"]>;

describe("encodeContents", () => {
  it("encodes text, files and data of the user", () => {
    const parts: Parts = [
      { content: { case: "text", value: "look" } },
      {
        content: {
          case: "file",
          value: {
            name: "a.png",
            mediaType: "image/png",
            source: { case: "bytes", value: Uint8Array.of(1, 2, 3) },
          },
        },
      },
      {
        content: {
          case: "file",
          value: {
            mediaType: "application/pdf",
            source: { case: "uri", value: "gs://b/c" },
          },
        },
      },
      { content: { case: "data", value: { a: 1 } } },
    ];
    expect(encodeContents([message(Role.USER, parts)])).toEqual([
      {
        role: "user",
        parts: [
          { text: "look" },
          { text: 'File "a.png":' },
          { inlineData: { mimeType: "image/png", data: "AQID" } },
          { fileData: { mimeType: "application/pdf", fileUri: "gs://b/c" } },
          { text: '{"a":1}' },
        ],
      },
    ]);
  });

  it("encodes the results of calls after them, in order, and no thoughts", () => {
    const parts: Parts = [
      {
        content: { case: "thought", value: { subject: "s", description: "d" } },
      },
      { content: { case: "text", value: "I read." } },
      {
        content: {
          case: "toolCall",
          value: {
            toolCallId: "1",
            toolName: "read_file",
            inputParameters: { file_path: "a" },
            status: ToolCallStatus.SUCCEEDED,
            result: {
              case: "output",
              value: { result: { case: "text", value: "content" } },
            },
          },
        },
        toolCallDetail: { modelSignature: Buffer.from("c2ln") },
      },
      {
        content: {
          case: "toolCall",
          value: {
            toolCallId: "2",
            toolName: "run_shell_command",
            status: ToolCallStatus.FAILED,
            result: {
              case: "error",
              value: { message: "no", type: "execution_failed", statusCode: 2 },
            },
          },
        },
      },
    ];
    expect(encodeContents([message(Role.AGENT, parts)])).toEqual([
      {
        role: "model",
        parts: [
          { text: "I read." },
          {
            functionCall: {
              id: "1",
              name: "read_file",
              args: { file_path: "a" },
            },
            thoughtSignature: "c2ln",
          },
          { functionCall: { id: "2", name: "run_shell_command", args: {} } },
        ],
      },
      {
        role: "user",
        parts: [
          {
            functionResponse: {
              id: "1",
              name: "read_file",
              response: { output: "content" },
            },
          },
          {
            functionResponse: {
              id: "2",
              name: "run_shell_command",
              response: {
                error: {
                  message: "no",
                  type: "execution_failed",
                  status_code: 2,
                },
              },
            },
          },
        ],
      },
    ]);
  });

  it("says that the user declined a call or that it was canceled", () => {
    const declined = message(Role.USER, [
      {
        content: {
          case: "confirmation",
          value: { toolCallId: "1", selectedOptionId: "cancel" },
        },
      },
    ]);
    const step = message(Role.AGENT, [cancelled("1"), cancelled("2")]);
    expect(JSON.stringify(encodeContents([step, declined]))).toMatch(
      /"id":"1".*The user declined.*"id":"2".*canceled before/,
    );
  });

  it("says that the user changed the content", () => {
    const changed = message(Role.USER, [
      {
        content: {
          case: "confirmation",
          value: {
            toolCallId: "1",
            selectedOptionId: "proceed_once",
            modifiedDetails: {
              case: "fileDetails",
              value: { newContent: "theirs" },
            },
          },
        },
      },
    ]);
    const diff = {
      filePath: "a.txt",
      newContent: "theirs",
      formattedDiff: "-mine\n+theirs",
    };
    const step = message(Role.AGENT, [
      {
        content: {
          case: "toolCall",
          value: {
            toolCallId: "1",
            toolName: "write_file",
            status: ToolCallStatus.SUCCEEDED,
            result: {
              case: "output",
              value: { result: { case: "diff", value: diff } },
            },
          },
        },
      },
    ]);
    const text = JSON.stringify(encodeContents([step, changed]));
    expect(text).toContain("The user changed the proposed content");
    expect(text).toContain("Changed a.txt.");
  });

  it("encodes a summary as the user's text", () => {
    const summary = message(Role.AGENT, [
      {
        content: { case: "summary", value: { text: "notes", keptMessages: 0 } },
      },
    ]);
    expect(encodeContents([summary])).toEqual([
      {
        role: "user",
        parts: [{ text: "What was said and done before, in short:\n\nnotes" }],
      },
    ]);
  });

  it("omits messages without content", () => {
    const empty = message(Role.USER, [
      { content: { case: "text", value: "" } },
    ]);
    expect(encodeContents([empty, message(Role.AGENT, [])])).toEqual([]);
  });

  it("omits a signature that another API gave", () => {
    const modelSignature = new TextEncoder().encode('{"openai":[]}');
    const toolCall = {
      toolCallId: "1",
      toolName: "read_file",
      status: ToolCallStatus.CANCELLED,
    };
    const parts: Parts = [
      {
        content: { case: "toolCall", value: toolCall },
        toolCallDetail: { modelSignature },
      },
    ];
    expect(
      JSON.stringify(encodeContents([message(Role.AGENT, parts)])),
    ).not.toContain("thoughtSignature");
  });

  it("gets a signature for the first call of a step without one", () => {
    const step = encodeContents([
      message(Role.AGENT, [cancelled("1"), cancelled("2")]),
    ]);
    expect(
      signContents(step)[0]?.parts?.map(
        ({ thoughtSignature }) => thoughtSignature,
      ),
    ).toEqual(["skip_thought_signature_validator", undefined]);
  });
});

describe("encodeTools", () => {
  it("declares tools by their JSON Schema", () => {
    const parameters = {
      type: "object",
      properties: { a: { type: "string" } },
    };
    expect(encodeTools([{ name: "t", description: "d", parameters }])).toEqual([
      {
        functionDeclarations: [
          { name: "t", description: "d", parametersJsonSchema: parameters },
        ],
      },
    ]);
  });

  it("returns undefined without tools", () => {
    expect(encodeTools([])).toBeUndefined();
  });
});

describe("a thought", () => {
  it.each([
    ["**Look around** I will read.", "Look around", "I will read."],
    ["I think. **Why** Because.", "Why", "I think.  Because."],
    ["no subject", "", "no subject"],
    ["**open", "", "**open"],
  ])("is read from %j", (text, subject, description) => {
    expect(readThought(text)).toMatchObject({ subject, description });
  });
});

function message(role: Role, parts: Parts): Message {
  return create(MessageSchema, { role, parts });
}

function cancelled(toolCallId: string): Parts[number] {
  return {
    content: {
      case: "toolCall",
      value: {
        toolCallId,
        toolName: "write_file",
        status: ToolCallStatus.CANCELLED,
      },
    },
  };
}
