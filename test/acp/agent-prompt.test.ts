import type { MessageInitShape } from "@bufbuild/protobuf";
import { create } from "@bufbuild/protobuf";
import {
  type Message,
  MessageSchema,
  type PartSchema,
  TaskState,
} from "@devtool/schema";
import { describe, expect, it } from "vitest";
import { AcpWorld, type AcpWorldOptions } from "./agent/world.ts";

type File =
  | { readonly name: string; readonly mediaType: string; readonly uri: string }
  | {
      readonly name: string;
      readonly mediaType: string;
      readonly data: string;
    };

describe("what a user sends an ACP agent", () => {
  it.each<[string, File, string]>([
    [
      "an image",
      { name: "a.png", mediaType: "image/png", data: "pixels" },
      "got image image/png cGl4ZWxz",
    ],
    [
      "audio",
      { name: "a.wav", mediaType: "audio/wav", data: "sounds" },
      "got audio audio/wav c291bmRz",
    ],
    [
      "a text file",
      { name: "a b.md", mediaType: "text/markdown", data: "# A" },
      "got resource attachment:///a%20b.md",
    ],
    [
      "a link to lines of a file",
      {
        name: "a.ts",
        mediaType: "text/typescript",
        uri: "file:///w/a.ts#L10-L20",
      },
      "got resource_link a.ts file:///w/a.ts#L10-L20",
    ],
  ])("reaches it: %s", async (_what, file, got) => {
    await using acp = await world();
    const { text } = await acp.say(messageWith(file));
    expect(text).toBe(got);
  });

  it("is refused with its name where the agent does not take it", async () => {
    await using acp = await world({ flags: ["--text-only"] });
    const { task } = await acp.say(
      messageWith({ name: "a.png", mediaType: "image/png", data: "pi\0xels" }),
    );
    expect([task.state, task.error]).toEqual([
      TaskState.FAILED,
      expect.stringContaining(
        'file "a.png" cannot be sent: agent "fake" accepts no image',
      ),
    ]);
  });

  it("has the MCP servers of its session, over the transports that the agent takes", async () => {
    await using acp = await world({ clientMcpServers: "all" });
    const url = "http://127.0.0.1:1/mcp";
    const [stdio, http, sse] = [
      {
        name: "one",
        transport: { case: "stdio" as const, value: { command: "true" } },
      },
      { name: "two", transport: { case: "http" as const, value: { url } } },
      { name: "three", transport: { case: "sse" as const, value: { url } } },
    ];
    const { text } = await acp.say("tell", undefined, {
      mcpServers: [stdio, http],
    });
    expect(JSON.parse(text).session.mcpServers).toEqual(["one", "two"]);
    const { task } = await acp.say("tell", undefined, {
      mcpServers: [stdio, sse],
    });
    expect([task.state, task.error]).toEqual([
      TaskState.FAILED,
      expect.stringContaining(
        'MCP server "three" cannot be used: agent "fake" takes none over sse',
      ),
    ]);
  });
});

function world(options: AcpWorldOptions = {}): Promise<AcpWorld> {
  return new AcpWorld(options).start();
}

function messageWith({ name, mediaType, ...file }: File): Message {
  const source =
    "uri" in file
      ? ({ case: "uri", value: file.uri } as const)
      : ({
          case: "bytes",
          value: new TextEncoder().encode(file.data),
        } as const);
  const parts: MessageInitShape<typeof PartSchema>[] = [
    { content: { case: "file", value: { name, mediaType, source } } },
  ];
  return create(MessageSchema, { messageId: crypto.randomUUID(), parts });
}
