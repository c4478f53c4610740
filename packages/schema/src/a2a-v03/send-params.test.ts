import { create } from "@bufbuild/protobuf";
import { describe, expect, it } from "vitest";
import { EXTENSION_URI, SESSION_SETTINGS_URI } from "../extension.ts";
import { Role } from "../gen/devtool/v1alpha/task_pb.ts";
import { SendMessageRequestSchema } from "../gen/devtool/v1alpha/task_service_pb.ts";
import { decodeMessageSend, encodeMessageSend } from "./send-params.ts";

const hello = {
  kind: "message",
  messageId: "m",
  role: "user",
  parts: [{ kind: "text", text: "hi" }],
};

describe("the parameters of message/send", () => {
  it("are decoded as they were encoded, with the settings of the session (SESSION-1, SESSION-3)", () => {
    const request = create(SendMessageRequestSchema, {
      contextId: "c",
      returnImmediately: true,
      message: {
        messageId: "m",
        role: Role.USER,
        parts: [{ content: { case: "text", value: "hi" } }],
      },
      settings: { workspacePath: "/w" },
      sessionSettings: { allowedTools: ["read_file"] },
    });
    const params = encodeMessageSend(request);
    const metadata = {
      [EXTENSION_URI]: { workspace_path: "/w" },
      [SESSION_SETTINGS_URI]: { allowedTools: ["read_file"] },
    };
    expect(params).toMatchObject({ message: { metadata } });
    expect(decodeMessageSend(params).request).toEqual({
      ...request,
      message: { ...request.message, metadata },
    });
  });

  it("omit empty settings and empty metadata", () => {
    const request = create(SendMessageRequestSchema, {
      message: { messageId: "m", role: Role.USER },
      sessionSettings: {},
    });
    expect(encodeMessageSend(request).message).not.toHaveProperty("metadata");
  });

  it("may have answers next to text (TOOL-5)", () => {
    const request = create(SendMessageRequestSchema, {
      taskId: "t",
      message: {
        messageId: "m",
        role: Role.USER,
        parts: [
          { content: { case: "text", value: "careful" } },
          {
            content: {
              case: "confirmation",
              value: { toolCallId: "a", selectedOptionId: "cancel" },
            },
          },
          {
            content: {
              case: "confirmation",
              value: { toolCallId: "b", selectedOptionId: "proceed_once" },
            },
          },
        ],
      },
    });
    const params = encodeMessageSend(request);
    expect(params).toMatchObject({
      message: {
        metadata: { [EXTENSION_URI]: { kind: "TOOL_CALL_CONFIRMATION" } },
      },
    });
    const { metadata } = Object(params.message);
    expect(decodeMessageSend(params).request.message).toEqual({
      ...request.message,
      metadata,
    });
  });

  it("keep the id of a message unchanged, so that different messages are not taken for a retry (STREAM-7)", () => {
    const params = { message: { ...hello, messageId: "step#2" } };
    expect(decodeMessageSend(params).request.message?.messageId).toBe("step#2");
  });

  it("have the client's other wishes", () => {
    const configuration = {
      blocking: false,
      historyLength: 3,
      pushNotificationConfig: {
        url: "https://example.com/hook",
        authentication: { schemes: ["Bearer"] },
      },
    };
    const decoded = decodeMessageSend({
      message: { ...hello, taskId: "t" },
      configuration,
    });
    expect(decoded).toMatchObject({
      request: { returnImmediately: true },
      historyLength: 3,
      pushConfig: {
        taskId: "t",
        url: "https://example.com/hook",
        authentication: { scheme: "Bearer" },
      },
    });
  });

  it.each([
    { params: undefined, error: "message is missing" },
    {
      params: { message: { ...hello, kind: "task" } },
      error: 'message.kind "task" must be "message"',
    },
    {
      params: { message: { ...hello, role: "system" } },
      error: 'message.role "system" must be "user"',
    },
    {
      params: { message: { ...hello, role: "agent" } },
      error: 'message.role "agent" must be "user"',
    },
    {
      params: { message: { ...hello, role: "ROLE_USER" } },
      error: "is written as in A2A 1.0",
    },
    {
      params: { message: { ...hello, parts: [{ type: "text", text: "x" }] } },
      error: 'write "kind": "text"',
    },
    {
      params: { message: { ...hello, parts: [{ text: "x" }] } },
      error: "message.parts[0].kind is missing",
    },
    {
      params: { message: { ...hello, workspace_path: "/w" } },
      error: "message.workspace_path is in the wrong place",
    },
    {
      params: { message: hello, workspace_path: "/w" },
      error: "params.workspace_path is in the wrong place",
    },
    { params: [1, 2], error: "expected a JSON object, got [1,2]" },
    {
      params: { message: { ...hello, messageId: 7 } },
      error: "message.messageId must be a string, got 7",
    },
    {
      params: { message: { ...hello, parts: [5] } },
      error: "message.parts[0] must be an object, got 5",
    },
    {
      params: { message: { ...hello, parts: [{ kind: "video" }] } },
      error: "message.parts[0].kind",
    },
    ...["text", [1, 2], 5, null].map((data) => ({
      params: { message: { ...hello, parts: [{ kind: "data", data }] } },
      error: `message.parts[0].data "${typeof data === "string" ? data : JSON.stringify(data)}" must be an object in A2A 0.3`,
    })),
    {
      params: { message: hello, configuration: { historyLength: -1 } },
      error: "configuration.historyLength",
    },
  ])("are rejected: $error (ERR-1)", ({ params, error }) => {
    expect(() => decodeMessageSend(params)).toThrow(error);
  });
});
