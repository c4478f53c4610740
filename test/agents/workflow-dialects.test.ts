import { PassThrough } from "node:stream";
import { serveAcp, stdioStream } from "@devtool/acp/port";
import { pendingToolCalls } from "@devtool/client";
import { fetchAgentCard } from "@devtool/client/a2a";
import { codingAgent } from "@devtool/coding-agent";
import { fileText } from "@devtool/internal/testing/files";
import { temporaryDirectory } from "@devtool/internal/testing/temporary-directory";
import { mcp } from "@devtool/mcp/server";
import { TaskState } from "@devtool/schema";
import {
  createServer,
  type DevtoolServer,
  defaultDialects,
} from "@devtool/server";
import { readWorkflow, workflowAgent } from "@devtool/workflow";
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { BINDINGS } from "../acp/bindings.ts";
import { Conversation, textOf } from "../acp/conversation.ts";
import { choose, Editor } from "../acp/port/editor.ts";
import { FrontEnd } from "../ag-ui/front-end.ts";
import { clientOf } from "../client-of.ts";
import { connectHost, ERAS } from "../mcp/host.ts";
import { taskOf } from "../tasks.ts";

const FLOW = `
name = "release"
description = "Writes a file, and publishes it."

[[steps]]
id = "write"
agent = "coder"
task = "write {{input.text}}.txt made\\ntext Made."

[[steps]]
id = "publish"
agent = "coder"
task = "text Published {{steps.write.result.text}}"
approval = "Publish {{input.text}}?"
dependencies = ["write"]
`;

/** What a run asks, in order: its agent, with the path, and the run itself. */
const QUESTIONS = [/coder → "write_file"/, /Publish \w+\?/] as const;

describe("a workflow of a TOML file is an agent", () => {
  const signal = AbortSignal.timeout(300_000);
  let server: DevtoolServer;
  let workspace: string;

  beforeAll(async () => {
    workspace = temporaryDirectory();
    server = await createServer({
      agents: {
        release: workflowAgent(readWorkflow(FLOW, "release.toml")),
        coder: codingAgent(),
      },
      workspace,
      dialects: [mcp(), ...defaultDialects()],
    });
  });
  afterAll(() => server.close());

  it("with a card", async () => {
    const { name, description } = await fetchAgentCard(
      { url: `${server.url}/agents/release` },
      signal,
    );
    expect([name, description]).toEqual([
      "release",
      "Writes a file, and publishes it.",
    ]);
  });

  it.each(Object.keys(BINDINGS))(
    "that runs, asks, answers and is canceled over %s",
    async (binding) => {
      const transport = BINDINGS[binding]?.(server);
      if (!transport) throw new Error("no binding");
      const name = `by${binding.replaceAll(/\W/g, "")}`;
      const talk = new Conversation(transport);
      const asked = await talk.say(name, signal);
      expect(pendingToolCalls(asked.task)[0]?.description).toMatch(
        /coder → "write_file"/,
      );
      const done = await talk.answer(asked, "proceed_once", signal);
      expect(done.events.at(-1)?.state).toBe(TaskState.COMPLETED);
      expect(textOf(done.events)).toBe("Published Made.");
      expect(fileText(workspace, `${name}.txt`)).toBe("made");
      const other = new Conversation(transport);
      const { task } = await other.say("canceled", signal);
      await other.client.tasks.cancelTask({ taskId: task.id }, { signal });
      const run = await taskOf(clientOf(server), task.id);
      expect(run.state).toBe(TaskState.CANCELED);
      const [child = ""] = run.history.flatMap(({ parts }) =>
        parts.flatMap((part) => part.toolCallDetail?.delegation?.taskId ?? []),
      );
      const { state } = await taskOf(clientOf(server), child);
      expect(state).toBe(TaskState.CANCELED);
    },
  );

  it("that runs, asks and answers over AG-UI", async () => {
    const page = new FrontEnd(server, { path: "/agents/release/ag-ui" });
    await page.say("byPage");
    for (const question of QUESTIONS) {
      expect(page.interrupt.message).toMatch(question);
      await page.answer({ approved: true });
    }
    expect(page.texts).toEqual(["Published Made."]);
    expect(fileText(workspace, "byPage.txt")).toBe("made");
    await page.say("again");
    expect(page.interrupt.message).toMatch(QUESTIONS[0]);
  });

  it.each(ERAS)("that runs, asks and answers over MCP, %s", async (era) => {
    const asked: string[] = [];
    const host = await connectHost(server, {
      era,
      answer: ({ message }) => {
        asked.push(message);
        return { action: "accept", content: { answer: "proceed_once" } };
      },
    });
    const name = `byHost${era.replaceAll(/\W/g, "")}`;
    const { structuredContent } = await host.callTool({
      name: "agent_release",
      arguments: { prompt: name },
    });
    await host.close();
    expect(structuredContent).toMatchObject({
      state: "completed",
      text: "Published Made.",
    });
    expect(asked).toEqual(QUESTIONS.map((one) => expect.stringMatching(one)));
    expect(fileText(workspace, `${name}.txt`)).toBe("made");
  });

  it("that runs, asks, answers and is canceled over ACP", async () => {
    const [input, output] = [new PassThrough(), new PassThrough()];
    const client = clientOf(server);
    const inputModes = ["text/plain"];
    const agent = {
      ...{ name: "release", version: "1", inputModes, hasExtension: true },
    };
    void serveAcp(
      {
        stream: stdioStream(input, output),
        connect: async () => ({ client, workspace, agent }),
      },
      signal,
    );
    const asked: string[] = [];
    const hanging = Promise.withResolvers<void>();
    const canceling = Promise.withResolvers<void>();
    await using editor = new Editor(input, output, {
      onPermission: async (question) => {
        const { title, content } = question.toolCall;
        asked.push(`${title} ${JSON.stringify(content)}`);
        if (asked.length <= 2) return choose("allow_once")(question);
        hanging.resolve();
        await canceling.promise;
        return { outcome: { outcome: "cancelled" } };
      },
    });
    const sessionId = await editor.open(workspace);
    expect(await editor.prompt(sessionId, "byEditor")).toBe("end_turn");
    expect(editor.text).toBe("Published Made.");
    expect(asked).toEqual(QUESTIONS.map((one) => expect.stringMatching(one)));
    expect(fileText(workspace, "byEditor.txt")).toBe("made");
    const canceled = editor.prompt(sessionId, "canceled");
    await hanging.promise;
    await editor.agent.notify("session/cancel", { sessionId });
    canceling.resolve();
    expect(await canceled).toBe("cancelled");
    expect(editor.problems).toEqual([]);
  });
});
