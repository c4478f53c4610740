import { TaskState } from "@devtool/schema";
import { describe, expect, it } from "vitest";
import { startServerProcess } from "../crash/server-process.ts";
import { Conversation } from "./conversation.ts";
import { clientOf, type Dialect, Ground, lastContents } from "./ground.ts";

const DIALECTS: readonly Dialect[] = ["Connect", "A2A 0.3"];
const { COMPLETED, INPUT_REQUIRED } = TaskState;

describe.each(DIALECTS)("over %s, a server with Gemini that is killed", (dialect) => {
  it("takes the answer after it, runs the call once, and tells the model all that was", {
    timeout: 60_000,
  }, async () => {
    await using ground = await Ground.prepare({ "a.txt": "A\n" });
    const directories = { data: ground.dataDirectory, workspace: ground.workspace };
    const environment = { GEMINI_API_KEY: "k", GOOGLE_GEMINI_BASE_URL: ground.fake.url };
    const first = await startServerProcess(directories, environment);
    const before = new Conversation(clientOf(first.info, dialect));
    await before.say("think\nread a.txt\ntext I read it.\nrun echo ran >>marks.txt\ntext All done.");
    expect([before.task.state, before.asked.length]).toEqual([INPUT_REQUIRED, 1]);
    await first.kill();

    const second = await startServerProcess(directories, environment);
    const client = clientOf(second.info, dialect);
    const { task } = await client.tasks.getTask({ taskId: before.task.id });
    const after = new Conversation(client, {}, task);
    expect(after.asked).toEqual(before.asked);
    const askedBefore = ground.fake.requests().length;
    await after.answer(() => "proceed_once");
    expect([after.task.state, after.text]).toEqual([COMPLETED, "I read it.All done."]);
    expect(await ground.read("marks.txt")).toBe("ran\n");

    expect(ground.fake.requests()).toHaveLength(askedBefore + 1);
    expect(lastContents(ground.fake)).toMatchObject([
      { role: "user", parts: [{ text: expect.stringContaining("read a.txt") }] },
      { role: "model", parts: [{ functionCall: { name: "read_file" }, thoughtSignature: expect.any(String) }] },
      { role: "user", parts: [{ functionResponse: { name: "read_file", response: { output: "A\n" } } }] },
      {
        role: "model",
        parts: [
          { text: "I read it." },
          { functionCall: { name: "run_shell_command" }, thoughtSignature: expect.any(String) },
        ],
      },
      { role: "user", parts: [{ functionResponse: { name: "run_shell_command" } }] },
    ]);
    await second.stop();
  });
});

describe("a conversation that grows long", () => {
  it("goes on from a summary, which the next request begins with", async () => {
    await using ground = await Ground.prepare({ "long.txt": "a line of the long file\n".repeat(400) });
    await using server = await ground.serve({}, { maxInputTokens: 2000 });
    const talk = new Conversation(clientOf(server, "Connect"));
    await talk.say("read long.txt\ntext never said");
    expect(talk.task.state).toBe(COMPLETED);
    expect(talk.events.filter(({ payload }) => payload.case === "summary")).toHaveLength(1);
    await talk.say("text on we go");
    const contents = lastContents(ground.fake);
    expect(contents[0]).toMatchObject({ role: "user", parts: [{ text: expect.stringMatching(/^What was said/) }] });
    expect(JSON.stringify(contents)).not.toContain("a line of the long file");
    expect(contents.at(-1)?.parts).toEqual([{ text: "text on we go" }]);
    expect(talk.text).toContain("on we go");
  });
});
