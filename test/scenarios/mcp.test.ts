import { fileURLToPath } from "node:url";
import { createMcp } from "@devtool/mcp";
import { findToolCallDetail, TaskState } from "@devtool/schema";
import { describe, expect, it } from "vitest";
import { variantsOf } from "../depth.ts";
import { nodeServer } from "../mcp/servers.ts";
import { Conversation } from "./conversation.ts";
import { clientOf, type Dialect, Ground, toldOf } from "./ground.ts";

const DIALECTS = variantsOf<Dialect>(
  "dialects of scenarios",
  ["Connect", "A2A 0.3"],
  1,
);
const { COMPLETED, INPUT_REQUIRED } = TaskState;
const program = (path: string): string =>
  fileURLToPath(new URL(path, import.meta.url));
const doorman = nodeServer("doorman", [program("mcp-server.ts")]);
const chaos = nodeServer("chaos", [
  program("../mcp/chaos-server.ts"),
  "change",
]);

describe.each(DIALECTS)("over %s, an MCP server", (dialect) => {
  it("asks its user while a tool runs, and gets the text that was added to the answer", async () => {
    await using ground = await Ground.prepare();
    await using server = await ground.serve({
      mcp: createMcp({ servers: [doorman] }),
    });
    const talk = new Conversation(clientOf(server, dialect));
    await talk.say("call mcp__doorman__greet {}\ntext Greeted.");
    const [greet] = talk.asked;
    expect(greet?.confirmationRequest?.details).toMatchObject({
      case: "mcpDetails",
      value: { serverName: "doorman", toolName: "greet" },
    });
    await talk.answer(() => "proceed_once");

    const [question] = talk.asked;
    expect(talk.task.state).toBe(INPUT_REQUIRED);
    expect(question?.confirmationRequest?.details).toMatchObject({
      case: "genericDetails",
      value: {
        description: expect.stringMatching(
          /^MCP server doorman \(.+\) asks: Who is there\?/,
        ),
      },
    });
    const detail = findToolCallDetail(talk.task, question?.toolCallId ?? "");
    expect(detail?.parentToolCallId).toBe(greet?.toolCallId);
    await talk.answer(() => "proceed_once", "x");
    expect(talk.asked[0]?.confirmationRequest?.details.value).toMatchObject({
      description: expect.stringContaining("The last answer did not fit"),
    });
    await talk.answer(() => "proceed_once", "Ada");

    expect([talk.task.state, talk.text]).toEqual([COMPLETED, "Greeted."]);
    expect(toldOf(ground.fake)).toEqual([{ output: "Hello, Ada!" }]);
  });

  it("asks while another call still waits for its own answer, and neither is forgotten", async () => {
    await using ground = await Ground.prepare();
    await using server = await ground.serve({
      mcp: createMcp({ servers: [doorman] }),
    });
    const talk = new Conversation(clientOf(server, dialect));
    await talk.say(
      "call mcp__doorman__greet {}\nwrite behind.txt x\ntext Both.",
    );
    const [, write] = talk.asked;
    await talk.answer(({ toolName }) =>
      toolName === "write_file" ? undefined : "proceed_once",
    );
    expect(talk.asked.map(({ description }) => description)).toEqual([
      "Create behind.txt",
      expect.stringMatching(/^MCP server doorman \(.+\) asks$/),
    ]);
    await talk.answer(
      ({ toolName }) =>
        toolName === "write_file" ? undefined : "proceed_once",
      "Ada",
    );
    expect([talk.task.state, talk.asked]).toEqual([INPUT_REQUIRED, [write]]);
    await talk.answer(() => "proceed_once");
    expect([talk.task.state, talk.text]).toEqual([COMPLETED, "Both."]);
    expect(toldOf(ground.fake)).toMatchObject([
      { output: "Hello, Ada!" },
      { output: expect.any(String) },
    ]);
  });

  it("is given up with its question when the task is canceled", async () => {
    await using ground = await Ground.prepare();
    await using server = await ground.serve({
      mcp: createMcp({ servers: [doorman] }),
    });
    const client = clientOf(server, dialect);
    const talk = new Conversation(client);
    await talk.say("call mcp__doorman__greet {}");
    await talk.answer(() => "proceed_once");
    await client.tasks.cancelTask({ taskId: talk.task.id });
    const { task } = await client.tasks.getTask({ taskId: talk.task.id });
    const calls = new Conversation(client, {}, task).outcomes;
    expect(calls).toEqual([
      "mcp__doorman__greet CANCELLED",
      "mcp__doorman__greet CANCELLED",
    ]);
  });

  it("is trusted by the tool, then whole, and asks again when it changes what a tool is", async () => {
    await using ground = await Ground.prepare();
    await using server = await ground.serve({
      mcp: createMcp({ servers: [chaos] }),
    });
    const talk = new Conversation(clientOf(server, dialect));
    const asked = (): string[] => talk.asked.map(({ toolName }) => toolName);
    await talk.say('call mcp__chaos__echo {"n":1}');
    await talk.answer(() => "proceed_always_tool");
    await talk.say('call mcp__chaos__echo {"n":2}\ncall mcp__chaos__fault {}');
    expect(asked()).toEqual(["mcp__chaos__fault"]);
    await talk.answer(() => "proceed_always_server");
    expect(toldOf(ground.fake).map(({ output }) => output)).toEqual([
      '{"n":1}',
      '{"n":2}',
      "changed",
    ]);

    await talk.say('call mcp__chaos__echo {"n":3}\ncall mcp__chaos__fault {}');
    expect(asked()).toEqual(["mcp__chaos__fault"]);
    expect(talk.asked[0]?.confirmationRequest?.details).toMatchObject({
      case: "mcpDetails",
    });
    await talk.answer(() => "cancel");
    expect(talk.outcomes.slice(-2)).toEqual([
      "mcp__chaos__echo SUCCEEDED",
      "mcp__chaos__fault CANCELLED",
    ]);
  });
});
