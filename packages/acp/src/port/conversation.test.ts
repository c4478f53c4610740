import { create } from "@bufbuild/protobuf";
import {
  ExecuteSlashCommandRequestSchema,
  emptyTask,
  type McpServer,
  McpServerSchema,
  SessionSettingsSchema,
  type Task,
} from "@devtool/schema";
import { describe, expect, it } from "vitest";
import { Conversation } from "./conversation.ts";

describe("a conversation", () => {
  it("lacks a server that only a slash command has brought, whose task prompts do not continue", () => {
    const conversation = new Conversation("", "c");
    conversation.note(taskWith("t1", []));
    const command = create(ExecuteSlashCommandRequestSchema);
    const servers = [create(McpServerSchema, { name: "new" })];
    conversation.note({ ...taskWith("t2", servers), command });
    expect([...conversation.servers]).toEqual([]);
    expect(conversation.task.id).toBe("t1");
    conversation.note(taskWith("t1", servers));
    expect([...conversation.servers]).toEqual(["new"]);
  });
});

function taskWith(id: string, mcpServers: McpServer[]): Task {
  const sessionSettings = create(SessionSettingsSchema, { mcpServers });
  return { ...emptyTask(), id, contextId: "c", sessionSettings };
}
