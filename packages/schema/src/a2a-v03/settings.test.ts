import type { JsonObject, JsonValue } from "@bufbuild/protobuf";
import { describe, expect, it } from "vitest";
import { decodeA2aJson } from "../a2a-v1/json.ts";
import { sendRequestFromA2a } from "../a2a-v1/send-request.ts";
import {
  EXTENSION_URI,
  MESSAGE_SETTINGS_URI,
  SESSION_SETTINGS_URI,
} from "../extension.ts";
import type { SendMessageRequest } from "../gen/devtool/v1alpha/task_service_pb.ts";
import { ApprovalPolicy } from "../gen/devtool/v1alpha/turn_settings_pb.ts";
import { SendMessageRequestSchema } from "../gen/lf/a2a/v1/a2a_pb.ts";
import { decodeMessageSend } from "./send-params.ts";
import { decodeRequestSettings } from "./settings.ts";

const read = (...metadata: (JsonValue | undefined)[]) =>
  decodeRequestSettings(
    metadata.map((value) => ({ metadata: value, path: "message.metadata" })),
  );

describe("the settings of a request (SESSION-1, SESSION-3)", () => {
  it("are the RFC's, and those of the session under a key of their own", () => {
    expect(
      read({
        [EXTENSION_URI]: { workspace_path: "/w" },
        [SESSION_SETTINGS_URI]: { allowedTools: ["read_file"] },
      }),
    ).toMatchObject({
      settings: { workspacePath: "/w" },
      sessionSettings: { allowedTools: ["read_file"] },
    });
  });

  it("are absent if there are none, and keys of other extensions are ignored", () => {
    expect(
      read(undefined, {
        "https://example.com/ext": { workspace_path: 5 },
        traceparent: "x",
        model: "y",
      }),
    ).toEqual({});
    expect(read({ [EXTENSION_URI]: {} })).toEqual({});
  });

  it("include the tools and MCP servers that the RFC allows next to the workspace", () => {
    const mcpServer = {
      name: "docs",
      http: { url: "https://docs.example/mcp" },
    };
    const { settings, sessionSettings } = read({
      [EXTENSION_URI]: {
        workspace_path: "/w",
        allowed_tools: ["read_file"],
        mcp_servers: [mcpServer],
      },
    });
    expect(settings?.workspacePath).toBe("/w");
    expect(sessionSettings).toMatchObject({
      allowedTools: ["read_file"],
      mcpServers: [{ name: "docs" }],
    });
  });

  it.each([
    "AllowedTools",
    "allowed-tools",
    "allowedtools",
    "ALLOWED_TOOLS",
    "Approval Mode",
    "approvalmode",
    "mcp-servers",
    "sessionsettings",
    "https://devtool.dev/a2a/session_settings/v1alpha",
    "https://devtool.dev/a2a/SessionSettings/v1alpha",
    "https://devtool.dev/a2a/settings/v1alpha",
    "http://devtool.dev/session-settings",
  ])("N1: are refused in a wrong spelling wherever they are: %s", (key) => {
    const settings = { [key]: ["read_file"] };
    const message = {
      kind: "message",
      messageId: "m",
      role: "user",
      parts: [{ kind: "text", text: "x" }],
    };
    const part = { kind: "text", text: "x", metadata: settings };
    for (const params of [
      { message: { ...message, metadata: settings } },
      { message, metadata: settings },
      { message, configuration: settings },
      { message, configuration: { metadata: settings } },
      { message, ...settings },
      { message: { ...message, ...settings } },
      { message: { ...message, parts: [part] } },
    ]) {
      expect(() => decodeMessageSend(params)).toThrow(
        /is in the wrong place|is not a key that this agent reads/,
      );
    }
  });

  it("may be given twice if they are equal", () => {
    const both = {
      [EXTENSION_URI]: { allowed_tools: ["a"] },
      [SESSION_SETTINGS_URI]: { allowedTools: ["a"], model: "m" },
    };
    expect(read(both, both).sessionSettings).toMatchObject({
      allowedTools: ["a"],
      model: "m",
    });
    expect(() =>
      read({ ...both, [SESSION_SETTINGS_URI]: { allowedTools: ["a", "b"] } }),
    ).toThrow("session settings are given twice, and differently: give one");
    expect(() =>
      read(
        { [EXTENSION_URI]: { workspace_path: "/v" } },
        { [EXTENSION_URI]: { workspace_path: "/w" } },
      ),
    ).toThrow(
      'workspace_path is given twice, as "/v" and "/w", and differently: give one',
    );
  });

  it("keep the agent when there are others beside the workspace", () => {
    const metadata = {
      [EXTENSION_URI]: { allowed_tools: ["a"] },
      [SESSION_SETTINGS_URI]: { agent: "greeter" },
    };
    expect(read(metadata).sessionSettings).toMatchObject({
      allowedTools: ["a"],
      agent: "greeter",
    });
    expect(() =>
      read(metadata, { [SESSION_SETTINGS_URI]: { agent: "other" } }),
    ).toThrow("session settings are given twice, and differently: give one");
  });

  it("may be next to the event that marks a message as an answer (META-1)", () => {
    expect(
      read({
        [EXTENSION_URI]: {
          kind: "TOOL_CALL_CONFIRMATION",
          model: "m",
          user_tier: "t",
        },
      }),
    ).toEqual({});
  });

  it.each<{ metadata: JsonValue; error: string }>([
    {
      metadata: { [EXTENSION_URI]: "/w" },
      error: 'AgentSettings must be an object like {"workspace_path"',
    },
    {
      metadata: { [EXTENSION_URI]: [] },
      error: "AgentSettings must be an object like",
    },
    {
      metadata: { [EXTENSION_URI]: { workspace_path: "" } },
      error: "workspace_path is empty: give an absolute path",
    },
    {
      metadata: { [EXTENSION_URI]: { workspace_path: null } },
      error: "workspace_path is empty: give an absolute path",
    },
    {
      metadata: { [EXTENSION_URI]: { workspace_path: 5 } },
      error: "workspace_path must be a string, got 5",
    },
    {
      metadata: {
        [EXTENSION_URI]: { AgentSettings: { workspace_path: "/w" } },
      },
      error:
        "AgentSettings is unknown: write the fields directly under the key of the extension",
    },
    {
      metadata: { [EXTENSION_URI]: { bogus: 1 } },
      error: "bogus is unknown: AgentSettings has workspace_path",
    },
    {
      metadata: { [EXTENSION_URI]: { model: "m" } },
      error: `other settings go under ${SESSION_SETTINGS_URI}`,
    },
    {
      metadata: { [EXTENSION_URI]: { allowed_tools: [] } },
      error: "allowed_tools is an empty list",
    },
    {
      metadata: { [EXTENSION_URI]: { allowed_tools: "x" } },
      error: "allowed_tools must be a list of strings",
    },
    {
      metadata: {
        [EXTENSION_URI.replace("v0", "v1")]: { workspace_path: "/w" },
      },
      error:
        "is version 1.0.0 of the extension, this agent speaks 0.0.0: use the key",
    },
    {
      metadata: {
        [EXTENSION_URI.replace("v0/", "")]: { workspace_path: "/w" },
      },
      error: "is not the URI of the extension: use the key",
    },
    {
      metadata: { workspace_path: "/w" },
      error: "message.metadata.workspace_path is in the wrong place",
    },
    {
      metadata: { AgentSettings: { workspace_path: "/w" } },
      error: "metadata.AgentSettings is in the wrong place",
    },
    {
      metadata: { allowed_tools: ["x"] },
      error: `is in the wrong place: write it under the key of its message`,
    },
    {
      metadata: { [SESSION_SETTINGS_URI]: { bogus: 1 } },
      error: "bogus is unknown: the fields here are allowedTools",
    },
    {
      metadata: { [SESSION_SETTINGS_URI]: "x" },
      error: 'SessionSettings must be an object, got "x"',
    },
    {
      metadata: { [SESSION_SETTINGS_URI]: { approvalMode: "PLAN" } },
      error: 'approvalMode "PLAN" is not one of APPROVAL',
    },
    {
      metadata: { [SESSION_SETTINGS_URI]: { allowedTools: null } },
      error: "allowedTools is null",
    },
    {
      metadata: {
        [SESSION_SETTINGS_URI.replace("v1alpha", "v1")]: {
          allowedTools: ["x"],
        },
      },
      error: `is not a key that this agent reads: use ${SESSION_SETTINGS_URI}`,
    },
    {
      metadata: { [SESSION_SETTINGS_URI]: { allowedTools: [] } },
      error: "allowedTools is an empty list: name what is allowed",
    },
    {
      metadata: {
        [SESSION_SETTINGS_URI]: { allowedTools: ["a"], allowed_tools: ["a"] },
      },
      error: "allowed_tools is given twice, also as allowedTools: send it once",
    },
    {
      metadata: { [MESSAGE_SETTINGS_URI.replace("https", "http")]: {} },
      error: `is not a key that this agent reads: use ${MESSAGE_SETTINGS_URI}`,
    },
    {
      metadata: { agentOptions: { effort: "low" } },
      error: `{"${SESSION_SETTINGS_URI}"`,
    },
    {
      metadata: { messageSettings: { clientLabel: "l" } },
      error: `{"${MESSAGE_SETTINGS_URI}"`,
    },
  ])("are rejected as $metadata", ({ metadata, error }) => {
    expect(() => read(metadata)).toThrow(error);
  });
});

describe("V20: settings in another place than the metadata of the message", () => {
  const session = { [SESSION_SETTINGS_URI]: { allowedTools: ["a"] } };
  const turn = { approvalPolicy: "APPROVAL_POLICY_ON_REQUEST" };
  const message = { [MESSAGE_SETTINGS_URI]: { turn } };
  const other = { [MESSAGE_SETTINGS_URI]: { clientLabel: "l" } };

  describe.each([
    ["A2A 0.3", decodeV03],
    ["A2A 1.0", decodeV1],
  ])("of %s", (_version, decode) => {
    it.each<[string, Places]>([
      ["the request", { request: message }],
      ["both, equally", { request: message, message }],
    ])("are read in the metadata of %s", (_place, places) => {
      const { messageSettings } = decode(places);
      expect(messageSettings).toMatchObject({
        turn: { approvalPolicy: ApprovalPolicy.ON_REQUEST },
      });
    });

    it.each<[string, Places]>([
      [
        "message settings are given twice",
        { request: message, message: other },
      ],
      ["message.parts[0].metadata", { part: session }],
      ["message.parts[0].metadata", { part: message }],
      [
        "message.parts[0].metadata.allowedTools",
        { part: { allowedTools: [] } },
      ],
      [
        "cannot be read",
        { message: { [MESSAGE_SETTINGS_URI]: { turn: null } } },
      ],
    ])("are refused: %s, %j", (error, places) => {
      expect(() => decode(places)).toThrow(error);
    });

    it.each([
      ["configuration.allowed_tools", { allowed_tools: ["a"] }],
      ["configuration.metadata", { metadata: session }],
      ["configuration.metadata", { metadata: message }],
    ])("are refused in its JSON: %s, %j", (error, configuration) => {
      expect(() => decode({ configuration })).toThrow(error);
    });
  });
});

/** Metadata by place, and the configuration of a request. */
interface Places {
  readonly request?: JsonObject;
  readonly message?: JsonObject;
  readonly part?: JsonObject;
  readonly configuration?: JsonObject;
}

function decodeV03(places: Places): SendMessageRequest {
  const { request = {}, message = {}, part = {}, configuration = {} } = places;
  return decodeMessageSend({
    message: {
      messageId: "m",
      role: "user",
      parts: [{ kind: "text", text: "hi", metadata: part }],
      metadata: message,
    },
    metadata: request,
    configuration,
  }).request;
}

function decodeV1(places: Places): SendMessageRequest {
  const { request = {}, message = {}, part = {}, configuration = {} } = places;
  return sendRequestFromA2a(
    decodeA2aJson(SendMessageRequestSchema, {
      message: {
        messageId: "m",
        role: "ROLE_USER",
        parts: [{ text: "hi", metadata: part }],
        metadata: message,
      },
      metadata: request,
      configuration,
    }),
  );
}
