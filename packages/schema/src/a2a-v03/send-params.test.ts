import { create } from "@bufbuild/protobuf";
import { describe, expect, it } from "vitest";
import { EXTENSION_URI, SESSION_SETTINGS_URI } from "../extension.ts";
import { Role } from "../gen/devtool/v1alpha/task_pb.ts";
import { SendMessageRequestSchema } from "../gen/devtool/v1alpha/task_service_pb.ts";
import { decodeMessageSend, encodeMessageSend } from "./send-params.ts";

const hello = { kind: "message", messageId: "m", role: "user", parts: [{ kind: "text", text: "hi" }] };

describe("the parameters of message/send", () => {
  it("come back as they were, with the settings of the session (SESSION-1, SESSION-3)", () => {
    const request = create(SendMessageRequestSchema, {
      contextId: "c",
      returnImmediately: true,
      message: { messageId: "m", role: Role.USER, parts: [{ content: { case: "text", value: "hi" } }] },
      settings: { workspacePath: "/w" },
      sessionSettings: {},
    });
    const params = encodeMessageSend(request);
    expect(params).toMatchObject({
      message: { metadata: { [EXTENSION_URI]: { workspace_path: "/w" }, [SESSION_SETTINGS_URI]: {} } },
    });
    expect(decodeMessageSend(params).request).toEqual(request);
  });

  it("hold answers beside text (TOOL-5)", () => {
    const request = create(SendMessageRequestSchema, {
      taskId: "t",
      message: {
        messageId: "m",
        role: Role.USER,
        parts: [
          { content: { case: "text", value: "careful" } },
          { content: { case: "confirmation", value: { toolCallId: "a", selectedOptionId: "cancel" } } },
          { content: { case: "confirmation", value: { toolCallId: "b", selectedOptionId: "proceed_once" } } },
        ],
      },
    });
    const params = encodeMessageSend(request);
    expect(params).toMatchObject({ message: { metadata: { [EXTENSION_URI]: { kind: "TOOL_CALL_CONFIRMATION" } } } });
    expect(decodeMessageSend(params).request.message).toEqual(request.message);
  });

  it("keep a message's id as it is, so that no two are taken for a retry (STREAM-7)", () => {
    const params = { message: { ...hello, messageId: "step#2" } };
    expect(decodeMessageSend(params).request.message?.messageId).toBe("step#2");
  });

  it("tell what else the client wants", () => {
    const configuration = {
      blocking: false,
      historyLength: 3,
      pushNotificationConfig: { url: "https://example.com/hook", authentication: { schemes: ["Bearer"] } },
    };
    const decoded = decodeMessageSend({ message: { ...hello, taskId: "t" }, configuration });
    expect(decoded).toMatchObject({
      request: { returnImmediately: true },
      historyLength: 3,
      pushConfig: { taskId: "t", url: "https://example.com/hook", authentication: { scheme: "Bearer" } },
      usesExtension: false,
    });
  });

  it("show by their metadata that the sender knows the extension (CARD-3)", () => {
    const message = { ...hello, metadata: { [EXTENSION_URI]: { workspace_path: "/w" } } };
    expect(decodeMessageSend({ message }).usesExtension).toBe(true);
    expect(decodeMessageSend({ message: hello }).usesExtension).toBe(false);
  });

  it.each([
    { params: undefined, error: "message is missing" },
    { params: { message: { ...hello, kind: "task" } }, error: 'message.kind "task" must be "message"' },
    { params: { message: { ...hello, role: "system" } }, error: 'message.role "system" choose user or agent' },
    { params: { message: { ...hello, parts: [{ kind: "video" }] } }, error: "message.parts[0].kind" },
    { params: { message: hello, configuration: { historyLength: -1 } }, error: "configuration.historyLength" },
  ])("are refused: $error (ERR-1)", ({ params, error }) => {
    expect(() => decodeMessageSend(params)).toThrow(error);
  });
});
