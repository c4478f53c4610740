import { fileURLToPath } from "node:url";
import { create } from "@bufbuild/protobuf";
import { createMcp } from "@devtool/mcp";
import { McpServerSchema, TaskState } from "@devtool/schema";
import { afterEach, describe, expect, it, onTestFinished, vi } from "vitest";
import { variantsOf } from "../depth.ts";
import { startServerProcess } from "../durability/crash/server-process.ts";
import { Conversation } from "./conversation.ts";
import {
  clientOf,
  type Dialect,
  Ground,
  lastContents,
  toldOf,
} from "./ground.ts";

const DIALECTS = variantsOf<Dialect>(
  "dialects of scenarios",
  ["Connect", "A2A 0.3"],
  1,
);
const { COMPLETED, INPUT_REQUIRED } = TaskState;

afterEach(() => vi.unstubAllEnvs());

describe.each(DIALECTS)(
  "over %s, a server with Gemini that is killed",
  (dialect) => {
    it("takes the answer after it, runs the call once, and tells the model all that was", async () => {
      await using ground = await Ground.prepare({ "a.txt": "A\n" });
      const directories = {
        data: ground.dataDirectory,
        workspace: ground.workspace,
      };
      vi.stubEnv("GEMINI_API_KEY", "k").stubEnv(
        "GOOGLE_GEMINI_BASE_URL",
        ground.fake.url,
      );
      const first = await startServerProcess(directories);
      onTestFinished(() => first.kill());
      const before = new Conversation(clientOf(first.info, dialect));
      await before.say(
        "think\nread a.txt\ntext I read it.\nrun echo ran >>marks.txt\ntext All done.",
      );
      expect([before.task.state, before.asked.length]).toEqual([
        INPUT_REQUIRED,
        1,
      ]);
      await first.kill();

      const second = await startServerProcess(directories);
      onTestFinished(() => second.kill());
      const client = clientOf(second.info, dialect);
      const { task } = await client.tasks.getTask({ taskId: before.task.id });
      const after = new Conversation(client, {}, task);
      // Snapshots of A2A have no details of calls, such as the digest of what
      // was shown: the answer counts for the question as it is.
      const snapshots = before.asked.map(
        ({ shownDigest: _digest, argumentsEditable: _editable, ...question }) =>
          question,
      );
      expect(after.asked).toMatchObject(snapshots);
      const askedBefore = ground.fake.requests().length;
      await after.answer(() => "proceed_once");
      expect([after.task.state, after.text]).toEqual([
        COMPLETED,
        "I read it.All done.",
      ]);
      expect(await ground.read("marks.txt")).toBe("ran\n");

      expect(ground.fake.requests()).toHaveLength(askedBefore + 1);
      expect(lastContents(ground.fake)).toMatchObject([
        {
          role: "user",
          parts: [{ text: expect.stringContaining("read a.txt") }],
        },
        {
          role: "model",
          parts: [
            {
              functionCall: { name: "read_file" },
              thoughtSignature: expect.any(String),
            },
          ],
        },
        {
          role: "user",
          parts: [
            {
              functionResponse: {
                name: "read_file",
                response: { output: "A\n" },
              },
            },
          ],
        },
        {
          role: "model",
          parts: [
            { text: "I read it." },
            {
              functionCall: { name: "run_shell_command" },
              thoughtSignature: expect.any(String),
            },
          ],
        },
        {
          role: "user",
          parts: [{ functionResponse: { name: "run_shell_command" } }],
        },
      ]);
      await second.stop();
    });
  },
);

describe("a server that stops while a running tool asks", () => {
  it("closes the question, runs the tool no second time, and tells the model that its outcome is unknown", async () => {
    await using ground = await Ground.prepare();
    const env = { DOORMAN_BOOK: ground.path("book.txt") };
    const program = fileURLToPath(new URL("mcp-server.ts", import.meta.url));
    const transport = {
      case: "stdio" as const,
      value: { command: process.execPath, args: [program], env },
    };
    const mcpServers = [
      create(McpServerSchema, { name: "doorman", transport }),
    ];
    const first = await ground.serve({
      mcp: createMcp({ servers: mcpServers }),
    });
    const before = new Conversation(clientOf(first, "Connect"));
    await before.say("call mcp__doorman__greet {}");
    await before.answer(() => "proceed_once");
    expect(before.asked.map(({ description }) => description)).toEqual([
      expect.stringMatching(/^MCP server doorman \(.+\) asks$/),
    ]);
    await first.close();

    await using second = await ground.serve({
      mcp: createMcp({ servers: mcpServers }),
    });
    const client = clientOf(second, "Connect");
    const { task } = await client.tasks.getTask({ taskId: before.task.id });
    const after = new Conversation(client, {}, task);
    expect([after.task.state, after.asked]).toEqual([INPUT_REQUIRED, []]);
    expect(after.outcomes).toEqual([
      "mcp__doorman__greet FAILED",
      "mcp__doorman__greet FAILED",
    ]);
    await after.say("text I see.");
    expect(after.task.state).toBe(COMPLETED);
    expect(toldOf(ground.fake)).toMatchObject([
      { error: { type: "interrupted" } },
    ]);
    expect(await ground.read("book.txt")).toBe("rang\n");
  });
});

describe("a conversation that grows long", () => {
  it("goes on from a summary, which the next request begins with", async () => {
    await using ground = await Ground.prepare({
      "long.txt": "a line of the long file\n".repeat(400),
    });
    await using server = await ground.serve({}, { maxInputTokens: 2000 });
    const talk = new Conversation(clientOf(server, "Connect"));
    await talk.say("read long.txt\ntext never said");
    expect(talk.task.state).toBe(COMPLETED);
    expect(
      talk.events.filter(({ payload }) => payload.case === "summary"),
    ).toHaveLength(1);
    await talk.say("text on we go");
    const contents = lastContents(ground.fake);
    expect(contents[0]).toMatchObject({
      role: "user",
      parts: [{ text: expect.stringMatching(/^What was said/) }],
    });
    expect(JSON.stringify(contents)).not.toContain("a line of the long file");
    expect(contents.at(-1)?.parts).toEqual([{ text: "text on we go" }]);
    expect(talk.text).toContain("on we go");
  });
});
