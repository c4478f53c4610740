import { create, type JsonObject } from "@bufbuild/protobuf";
import { TaskEventSchema, ToolCallStatus } from "@devtool/schema";
import { beforeEach, describe, expect, it } from "vitest";
import { SessionEvents } from "./session-events.ts";

describe("the question of a call of an MCP server, as an event of a session", () => {
  let events: SessionEvents;
  beforeEach(() => {
    events = new SessionEvents();
  });

  it("shows the arguments that are approved, and not those with which the call began", () => {
    expect(show({ inputParameters: { path: "a" } })).toEqual([]);
    expect(show(asking({ path: "b" }))).toEqual([
      'Call remove of the MCP server files with {"path":"b"}?',
    ]);
  });

  it("is sent again when the call asks about something else, and only then", () => {
    expect(show(asking({ path: "a" }), "one")).toHaveLength(1);
    expect(show(asking({ path: "a" }), "one")).toEqual([]);
    expect(show(asking({ path: "b\u202e" }), "two")).toEqual([
      'Call remove of the MCP server files with {"path":"b\\u{202e}"}?',
    ]);
  });

  /** Returns the questions that a version of the call leads to. */
  function show(version: object, digest = ""): string[] {
    const call = {
      toolCallId: "call",
      toolName: "mcp__files__remove",
      status: ToolCallStatus.PENDING,
      ...version,
    };
    const toolCallDetail = { digest: new TextEncoder().encode(digest) };
    const event = create(TaskEventSchema, {
      payload: { case: "toolCall", value: call },
      toolCallDetail,
    });
    return events
      .receive(event)
      .flatMap(({ shown: { msg } }) =>
        msg.case === "requestUserInput" ? [msg.value.question] : [],
      );
  }
});

function asking(inputParameters: JsonObject) {
  const value = { serverName: "files", toolName: "remove" };
  return {
    inputParameters,
    confirmationRequest: { details: { case: "mcpDetails" as const, value } },
  };
}
