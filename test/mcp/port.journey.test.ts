import { serveCodingAgent } from "@devtool/coding-agent";
import { fileText } from "@devtool/internal/testing/files";
import { temporaryDirectory } from "@devtool/internal/testing/temporary-directory";
import { mcp } from "@devtool/mcp/server";
import { type DevtoolServer, defaultDialects } from "@devtool/server";
import type { Client } from "@modelcontextprotocol/client";
import { afterEach, beforeEach, describe, expect, it } from "vitest";
import { clientOf } from "../client-of.ts";
import { connectHost, ERAS, type HostOptions } from "./host.ts";

describe.each(ERAS)("any agent as a tool of an MCP host, in era %s", (era) => {
  let workspace: string;
  let server: DevtoolServer;
  const clients: Client[] = [];
  beforeEach(async () => {
    workspace = temporaryDirectory();
    server = await serveCodingAgent({
      workspace,
      dialects: [mcp(), ...defaultDialects()],
    });
  });
  afterEach(async () => {
    for (const client of clients.splice(0)) await client.close();
    await server.close();
  });
  const connect = async (
    options: Omit<HostOptions, "era"> = {},
  ): Promise<Client> => {
    const client = await connectHost(server, { era, ...options });
    clients.push(client);
    return client;
  };
  const call = (client: Client, name: string, args: Record<string, unknown>) =>
    client.callTool({ name, arguments: args });

  it("offers the agent with its skills, and lets no model answer for a user who is asked", async () => {
    const asking = await connect({ answer: () => ({ action: "decline" }) });
    const { tools } = await asking.listTools();
    expect(tools.map(({ name }) => name)).toEqual([
      "agent_devtool",
      "task_wait",
      "task_cancel",
    ]);
    expect(tools[0]?.description).toContain("Skills:");
    const plain = await connect();
    expect((await plain.listTools()).tools.map(({ name }) => name)).toContain(
      "task_answer",
    );
  });

  it("asks the host's user in a form, and runs what was approved", async () => {
    const asked: string[] = [];
    const client = await connect({
      answer: ({ message }) => {
        asked.push(message);
        return { action: "accept", content: { answer: "proceed_once" } };
      },
    });
    const result = await call(client, "agent_devtool", {
      prompt: "text Before.\nwrite a.txt hello\ntext Written.",
    });
    expect(result.structuredContent).toMatchObject({
      state: "completed",
      text: "Before.\n\nWritten.",
      questions: [],
    });
    expect(asked).toHaveLength(1);
    expect(asked[0]).toContain("a.txt");
    expect(asked[0]).toContain("hello");
    expect(fileText(workspace, "a.txt")).toBe("hello");
  });

  it("shows the whole of what is approved, however long it is", async () => {
    const asked: string[] = [];
    const client = await connect({
      answer: ({ message }) => {
        asked.push(message);
        return { action: "decline" };
      },
    });
    const lines = Array.from({ length: 500 }, (_, at) => `echo ${at}`);
    await call(client, "agent_devtool", {
      prompt: `run ${lines.join("; ")}`,
    });
    for (const line of lines) expect(asked[0]).toContain(line);
  });

  it.each(["decline", "cancel"] as const)(
    "runs nothing after %s",
    async (action) => {
      const client = await connect({ answer: () => ({ action }) });
      const result = await call(client, "agent_devtool", {
        prompt: "write a.txt hello\ntext Written.",
      });
      expect(result.structuredContent).toMatchObject({ questions: [] });
      expect(() => fileText(workspace, "a.txt")).toThrow("ENOENT");
    },
  );

  it("runs nothing after an answer that was not offered", async () => {
    const client = await connect({
      answer: () => ({ action: "accept", content: { answer: "sure" } }),
    });
    await call(client, "agent_devtool", { prompt: "write a.txt hello" });
    expect(() => fileText(workspace, "a.txt")).toThrow("ENOENT");
  });

  it("gives a host without forms the question and a tool to answer", async () => {
    const client = await connect();
    const asks = await call(client, "agent_devtool", {
      prompt: "write a.txt hello\ntext Written.",
    });
    const { taskId, state, questions } = Object(asks.structuredContent);
    expect(state).toBe("input-required");
    const [{ id, text, options }] = questions;
    expect(text).toContain("hello");
    expect(options.map(({ id }: { id: string }) => id)).toContain(
      "proceed_once",
    );
    const wrong = await call(client, "task_answer", {
      taskId,
      question: "call-0:0:",
      option: "proceed_once",
    });
    expect(wrong).toMatchObject({ isError: true });
    expect(JSON.stringify(wrong.content)).toContain(
      JSON.stringify(id).slice(1, -1),
    );
    const done = await call(client, "task_answer", {
      taskId,
      question: id,
      option: "proceed_once",
    });
    expect(done.structuredContent).toMatchObject({ state: "completed" });
    expect(fileText(workspace, "a.txt")).toBe("hello");
  });

  it("goes on in a task, and shows it as a resource", async () => {
    const client = await connect();
    const first = await call(client, "agent_devtool", { prompt: "text One." });
    const { taskId } = Object(first.structuredContent);
    const second = await call(client, "agent_devtool", {
      prompt: "text Two.",
      taskId,
    });
    expect(second.structuredContent).toMatchObject({ taskId, text: "Two." });
    const { resources } = await client.listResources();
    expect(resources).toMatchObject([{ uri: `devtool://tasks/${taskId}` }]);
    const { contents } = await client.readResource({
      uri: `devtool://tasks/${taskId}`,
    });
    expect(JSON.parse(Object(contents[0]).text)).toMatchObject({
      taskId,
      state: "completed",
      text: "Two.",
    });
  });

  it("gives the agent the files of a call, and refuses what is none", async () => {
    const client = await connect();
    const data = Buffer.from("png").toString("base64");
    const image = { name: "a.png", mimeType: "image/png", data };
    const link = { uri: "https://x.example/b.pdf" };
    const result = await call(client, "agent_devtool", {
      prompt: "text Seen.",
      files: [image, link],
    });
    const { taskId } = Object(result.structuredContent);
    const { task } = await clientOf(server).tasks.getTask({ taskId });
    const [, ...files] = task?.history[0]?.parts ?? [];
    expect(files.map(({ content }) => content.value)).toMatchObject([
      {
        name: "a.png",
        mediaType: "image/png",
        source: { case: "bytes", value: new TextEncoder().encode("png") },
      },
      { source: { case: "uri", value: link.uri } },
    ]);
    for (const file of [{ ...image, ...link }, { name: "a" }, { data: "%" }]) {
      const wrong = await call(client, "agent_devtool", {
        prompt: "text a",
        files: [file],
      });
      expect(wrong.isError).toBe(true);
      expect(Object(wrong.content[0]).text).toContain("files[0]");
    }
  });

  it("says what is wrong with a call, and what to do", async () => {
    const client = await connect();
    const results = await Promise.all([
      call(client, "agent_devtool", {}),
      call(client, "agent_devtool", { prompt: "text a", workspace: "/" }),
      call(client, "agent_other", { prompt: "text a" }),
      call(client, "task_wait", { taskId: "nobody" }),
    ]);
    expect(results.map(({ isError }) => isError)).toEqual(
      results.map(() => true),
    );
    const words = results.map(({ content }) => Object(content[0]).text);
    expect(words).toEqual([
      expect.stringContaining("prompt"),
      expect.stringContaining('"/"'),
      expect.stringContaining("tools/list"),
      expect.stringContaining("nobody"),
    ]);
  });

  it("cancels the task of a call that its host withdraws", async () => {
    const client = await connect();
    const stop = new AbortController();
    const heard: string[] = [];
    const calling = client.callTool(
      { name: "agent_devtool", arguments: { prompt: "text a\nwait 60000" } },
      {
        signal: stop.signal,
        onprogress: ({ message = "" }) => heard.push(message),
      },
    );
    const failed = expect(calling).rejects.toThrow();
    await expect.poll(() => heard[0]).toMatch(/^task /);
    stop.abort(new Error("the user pressed escape"));
    await failed;
    const taskId = heard[0]?.split(" ")[1] ?? "";
    await expect
      .poll(async () => stateOf(await call(client, "task_wait", { taskId })))
      .toBe("canceled");
  });

  it("lets a task go on whose wait a host withdraws", async () => {
    const client = await connect();
    const heard: string[] = [];
    const calling = client.callTool(
      {
        name: "agent_devtool",
        arguments: { prompt: "text a\nwait 3000\ntext Done." },
      },
      { onprogress: ({ message = "" }) => heard.push(message) },
    );
    await expect.poll(() => heard[0]).toMatch(/^task /);
    const taskId = heard[0]?.split(" ")[1] ?? "";
    const stop = new AbortController();
    const waits: string[] = [];
    const waiting = client.callTool(
      { name: "task_wait", arguments: { taskId } },
      {
        signal: stop.signal,
        onprogress: ({ message = "" }) => waits.push(message),
      },
    );
    const failed = expect(waiting).rejects.toThrow();
    await expect.poll(() => waits[0]).toMatch(/^task /);
    stop.abort(new Error("the user pressed escape"));
    await failed;
    expect((await calling).structuredContent).toMatchObject({
      state: "completed",
      text: expect.stringContaining("Done."),
    });
  });

  it("does not find a resource that is no address of a task", async () => {
    const client = await connect();
    await expect(
      client.readResource({ uri: "devtool://tasks/%" }),
    ).rejects.toThrow(/not found/i);
    if (era === "legacy") {
      await expect(
        client.subscribeResource({ uri: "devtool://tasks/%" }),
      ).rejects.toThrow(/not found/i);
    }
  });

  it("tells a subscriber that a task asks", async () => {
    const client = await connect();
    const asks = await call(client, "agent_devtool", {
      prompt: "write a.txt hello\nwrite b.txt hello",
    });
    const { taskId, questions } = Object(asks.structuredContent);
    const uri = `devtool://tasks/${taskId}`;
    const heard: string[] = [];
    client.setNotificationHandler("notifications/resources/updated", (note) => {
      heard.push(note.params.uri);
    });
    if (era === "legacy") {
      await client.subscribeResource({ uri });
    } else {
      await client.listen({ resourceSubscriptions: [uri] });
    }
    await call(client, "task_answer", {
      taskId,
      question: questions[0].id,
      option: "proceed_once",
    });
    await expect.poll(() => heard).toContain(uri);
  });
});

function stateOf({
  structuredContent,
}: {
  structuredContent?: unknown;
}): unknown {
  return Object(structuredContent).state;
}
