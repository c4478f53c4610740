import { create, toJson } from "@bufbuild/protobuf";
import {
  MessageSchema,
  SessionSettingsSchema,
  TaskEventSchema,
  TaskSchema,
} from "@devtool/schema";
import { describe, expect, it } from "vitest";
import {
  hideSecretsInEvent,
  hideSecretsInMessage,
  hideSecretsInTask,
} from "./hide-secrets.ts";

const SESSION_SETTINGS = create(SessionSettingsSchema, {
  allowedTools: ["read_file"],
  mcpServers: [
    {
      name: "wiki",
      transport: {
        case: "http",
        value: {
          url: "https://me:pw@wiki.example:8443/mcp?key=k#x",
          headers: { auth: "Bearer t" },
        },
      },
    },
    {
      name: "files",
      transport: {
        case: "stdio",
        value: { command: "serve", args: ["-v"], env: { KEY: "k" } },
      },
    },
  ],
});

const SHOWN = [
  {
    name: "wiki",
    http: {
      url: "https://wiki.example:8443/mcp",
      headers: { auth: "[hidden]" },
    },
  },
  {
    name: "files",
    stdio: { command: "serve", args: ["-v"], env: { KEY: "[hidden]" } },
  },
];

describe("a recorded message (META-1, S12)", () => {
  it("keeps the metadata of its sender, without the secrets of MCP servers", () => {
    const settings = toJson(SessionSettingsSchema, SESSION_SETTINGS);
    const other = { "https://example.com/x": [1, { y: null }] };
    const message = create(MessageSchema, {
      messageId: "m",
      metadata: { own: settings, ...other },
    });
    expect(hideSecretsInMessage(message).metadata).toEqual({
      own: { allowedTools: ["read_file"], mcpServers: SHOWN },
      ...other,
    });
    const rfc = create(MessageSchema, {
      metadata: { rfc: { workspace_path: "/w", mcp_servers: [7] } },
    });
    expect(hideSecretsInMessage(rfc).metadata).toEqual({
      rfc: { workspace_path: "/w", mcp_servers: ["[hidden]"] },
    });
  });
});

describe("the settings that clients see (S12)", () => {
  it("list MCP servers without their secrets, in tasks and in events", () => {
    const task = create(TaskSchema, {
      id: "t",
      sessionSettings: SESSION_SETTINGS,
    });
    expect(toJson(TaskSchema, hideSecretsInTask(task))).toMatchObject({
      id: "t",
      sessionSettings: { allowedTools: ["read_file"], mcpServers: SHOWN },
    });
    const event = create(TaskEventSchema, {
      taskId: "t",
      payload: {
        case: "created",
        value: { sessionSettings: SESSION_SETTINGS },
      },
    });
    expect(toJson(TaskEventSchema, hideSecretsInEvent(event))).toMatchObject({
      taskId: "t",
      created: {
        sessionSettings: { allowedTools: ["read_file"], mcpServers: SHOWN },
      },
    });
  });

  it("are the same task and event objects when there is nothing to hide, so that cached encodings are shared", () => {
    const task = create(TaskSchema, { sessionSettings: { model: "m" } });
    expect(hideSecretsInTask(task)).toBe(task);
    const event = create(TaskEventSchema, {
      payload: { case: "text", value: { text: "t" } },
    });
    expect(hideSecretsInEvent(event)).toBe(event);
  });
});
