import { type ChildProcess, spawn } from "node:child_process";
import { join } from "node:path";
import { pathToFileURL } from "node:url";
import { create, type MessageInitShape } from "@bufbuild/protobuf";
import type { Question, Tool } from "@devtool/coding-agent/tool";
import { putFile } from "@devtool/internal/testing/files";
import { temporaryDirectory } from "@devtool/internal/testing/temporary-directory";
import type { McpServers } from "@devtool/mcp/testing";
import { type McpServer, McpServerSchema } from "@devtool/schema";
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { COMPILE_CACHE } from "../compile-cache-variable.ts";
import { freePort } from "../free-port.ts";
import {
  errorOf,
  nodeServer,
  play,
  serverProgram,
  serversOf,
  textOf,
  toolNamed,
} from "./servers.ts";

const signal = AbortSignal.timeout(300_000);

describe("the reference servers over standard streams", () => {
  let workspace: string;
  let servers: McpServers;
  let tools: readonly Tool[];

  beforeAll(async () => {
    workspace = temporaryDirectory();
    putFile(workspace, "src/hello.txt", "hello, file\n");
    const settings = [everything(), files(workspace), memory(workspace)];
    ({ servers } = serversOf(settings, {
      workspacePath: workspace,
    }));
    tools = await servers.tools(signal);
  });

  afterAll(() => servers[Symbol.asyncDispose]());

  it("are ready", () => {
    expect(servers.status().map(({ name, state }) => [name, state])).toEqual([
      ["everything", "ready"],
      ["files", "ready"],
      ["memory", "ready"],
    ]);
    expect(servers.status().map(({ toolCount }) => toolCount)).toEqual([
      expect.any(Number),
      14,
      9,
    ]);
  });

  it("have names that say where a tool belongs, and facts for the policy", () => {
    const tool = toolNamed(tools, "read_text_file");
    expect(tool.declaration.name).toBe("mcp__files__read_text_file");
    expect(tool.declaration.parameters.type).toBe("object");
    expect(tool.facts).toEqual({
      mcpServer: "files",
      isNamesake: false,
      mcpServerHash: expect.stringMatching(/^[0-9a-f]{64}$/),
      definitionHash: expect.stringMatching(/^[0-9a-f]{64}$/),
      annotations: expect.objectContaining({ readOnlyHint: true }),
    });
  });

  it("are asked about by server and tool", async () => {
    const { confirmation, description } = await toolNamed(
      tools,
      "__echo",
    ).prepare({ message: "hi" }, signal);
    expect(confirmation).toMatchObject({
      case: "mcpDetails",
      value: { serverName: "everything", toolName: "echo" },
    });
    expect(description).toMatch(/^Echo Tool \(MCP server everything: .+\)$/);
  });

  it("do not see arguments that their schema refuses", async () => {
    const bad = toolNamed(tools, "get-sum").prepare({ a: "one", b: 2 }, signal);
    await expect(bad).rejects.toThrow(
      /args do not fit tool mcp__everything__get-sum/,
    );
  });

  it("answer with text, structured data, and words for what is neither", async () => {
    const call = async (name: string, args = {}) =>
      textOf(await play(toolNamed(tools, name), args, signal));
    expect(await call("__echo", { message: "hi" })).toBe("Echo: hi");
    expect(await call("get-sum", { a: 2, b: 3 })).toContain("5");
    const { result } = await play(
      toolNamed(tools, "get-structured-content"),
      { location: "New York" },
      signal,
    );
    expect(result).toMatchObject({
      case: "output",
      value: {
        result: {
          case: "structuredData",
          value: { conditions: expect.any(String) },
        },
      },
    });
    expect(await call("get-tiny-image")).toMatch(
      /\[image image\/png, \d+ bytes\]/,
    );
    expect(
      await call("get-resource-reference", {
        resourceType: "Text",
        resourceId: 1,
      }),
    ).toMatch(/\[resource demo:/);
    expect(
      await call("get-resource-reference", {
        resourceType: "Blob",
        resourceId: 2,
      }),
    ).toMatch(/\[resource demo:.*, \d+ bytes\]/);
    expect(await call("get-resource-links", { count: 2 })).toMatch(
      /\[link to resource .*demo:/,
    );
  });

  it("learn that the workspace is the root", async () => {
    expect(
      textOf(await play(toolNamed(tools, "get-roots-list"), {}, signal)),
    ).toContain(pathToFileURL(workspace).href);
  });

  it("show how far a long call has come", async () => {
    const { events } = await play(
      toolNamed(tools, "long-running-operation"),
      { duration: 0.9, steps: 3 },
      signal,
    );
    const progress = events.flatMap((event) =>
      event.case === "progress" ? [event.value.done] : [],
    );
    // What comes in quick succession on a busy machine is shown as one.
    expect(progress).toEqual(
      [1, 2, 3].filter((step) => progress.includes(step)),
    );
    expect(progress.length).toBeGreaterThan(0);
  });

  it("are told that a call was cancelled, and go on", async () => {
    const cancel = new AbortController();
    const invocation = await toolNamed(tools, "long-running-operation").prepare(
      { duration: 60, steps: 600 },
      signal,
    );
    const cancelled = (async () => {
      for await (const event of invocation.execute(cancel.signal)) {
        if (event.case === "progress") cancel.abort();
      }
    })();
    await expect(cancelled).rejects.toThrow(/abort/);
    expect(
      textOf(
        await play(
          toolNamed(tools, "__echo"),
          { message: "still here" },
          signal,
        ),
      ),
    ).toContain("still here");
  });

  it("ask the user, again when the answer does not fit, and take the defaults", async () => {
    const questions: Question[] = [];
    const answers = [
      '{"name": "Ada", "integer": 1000}',
      '{"name": "Ada", "check": true}',
    ];
    const text = textOf(
      await play(
        toolNamed(tools, "trigger-elicitation-request"),
        {},
        signal,
        (question) => {
          questions.push(question);
          return {
            optionId: "proceed_once",
            text: answers[questions.length - 1] ?? "",
          };
        },
      ),
    );
    const [first, second] = questions.map(({ details }) =>
      details.case === "genericDetails" ? details.value.description : "",
    );
    expect(first).toContain(
      "- name: String: Your full, legal name, string, required",
    );
    expect(first).toContain('one of "Monica", "Rachel"');
    expect(second).toContain("The last answer did not fit");
    expect(questions).toHaveLength(2);
    expect(text).toMatch(/Name: Ada[\s\S]*Favorite Integer: 42/);
  });

  it("are told that the user declined", async () => {
    const text = textOf(
      await play(toolNamed(tools, "trigger-elicitation-request"), {}, signal),
    );
    expect(text).toContain("User declined");
  });

  it("send the user to a page", async () => {
    const args = {
      url: "https://example.com/consent",
      message: "Please agree",
    };
    let shown = "";
    const text = textOf(
      await play(
        toolNamed(tools, "trigger-url-elicitation"),
        args,
        signal,
        ({ details }) => {
          shown =
            details.case === "genericDetails" ? details.value.description : "";
          return { optionId: "proceed_once", text: "" };
        },
      ),
    );
    expect(shown).toMatch(
      /^MCP server everything \(.+\) asks to open https:\/\/example\.com\/consent\nPlease agree$/,
    );
    expect(text).toContain("accept");
  });

  it("ask the model only after the user saw the prompt and agreed", async () => {
    let shown = "";
    const tool = toolNamed(tools, "trigger-sampling-request");
    const agreed = await play(
      tool,
      { prompt: "why?" },
      signal,
      ({ details }) => {
        shown =
          details.case === "genericDetails" ? details.value.description : "";
        return { optionId: "proceed_once", text: "" };
      },
    );
    expect(shown).toMatch(
      /^MCP server everything \(.+\) wants to ask the model\. It asks for at most /,
    );
    expect(shown).toContain("system: You are a helpful test server.");
    expect(shown).toContain(
      "user: Resource trigger-sampling-request context: why?",
    );
    expect(textOf(agreed)).toContain(
      "You are a helpful test server. / Resource",
    );
    expect(
      errorOf(await play(tool, { prompt: "why?" }, signal)).message,
    ).toContain("the user declined");
  });

  it("offer prompts with their arguments", async () => {
    const prompts = await servers.prompts(signal);
    const prompt = prompts.find(({ name }) => name === "args-prompt");
    expect(prompt).toMatchObject({
      server: "everything",
      description: "A prompt with two arguments, one required and one optional",
      arguments: [
        { name: "city", isRequired: true },
        { name: "state", isRequired: false },
      ],
    });
    const messages = await prompt?.get(
      { city: "Turin", state: "Italy" },
      signal,
    );
    expect(messages).toEqual([
      { role: "user", text: "What's weather in Turin, Italy?" },
    ]);
  });

  it("offer resources to read", async () => {
    const [resource] = await servers.resources(signal);
    if (!resource) throw new Error("there should be resources");
    const tool = toolNamed(tools, "read_mcp_resource");
    expect(tool.declaration.description).toContain(resource.uri);
    expect(
      textOf(
        await play(tool, { server: "everything", uri: resource.uri }, signal),
      ),
    ).toContain(resource.uri);
    const [, template] =
      /- everything: (\S+) \(template, /.exec(tool.declaration.description) ??
      [];
    const uri = template?.replace(/\{\w+\}/, "7") ?? "there is no template";
    expect(
      textOf(await play(tool, { server: "everything", uri }, signal)),
    ).toContain(uri);
    const elsewhere = tool.prepare(
      { server: "files", uri: resource.uri },
      signal,
    );
    await expect(elsewhere).rejects.toThrow(
      'server "files" has no resources: choose everything, memory',
    );
  });

  it("say themselves why a call fails", async () => {
    const outside = await play(
      toolNamed(tools, "read_text_file"),
      { path: "/etc/passwd" },
      signal,
    );
    expect(errorOf(outside)).toMatchObject({
      type: "mcp_tool_error",
      message: expect.stringMatching(/denied/i),
    });
    const inside = await play(
      toolNamed(tools, "read_text_file"),
      { path: join(workspace, "src/hello.txt") },
      signal,
    );
    expect(textOf(inside)).toContain("hello, file");
  });

  it("keep what they were told", async () => {
    const entities = [
      { name: "Ada", entityType: "person", observations: ["wrote programs"] },
    ];
    await play(toolNamed(tools, "create_entities"), { entities }, signal);
    expect(
      textOf(await play(toolNamed(tools, "read_graph"), {}, signal)),
    ).toContain("wrote programs");
  });
});

describe("the settings of a server", () => {
  it("choose its tools", async () => {
    const settings = [
      everything({
        includeTools: ["echo", "get-sum"],
        excludeTools: ["get-sum"],
      }),
    ];
    await using servers = serversOf(settings).servers;
    const names = (await servers.tools(signal)).map(
      ({ declaration }) => declaration.name,
    );
    expect(names).toEqual(["mcp__everything__echo", "read_mcp_resource"]);
    expect(servers.status()).toMatchObject([{ toolCount: 1 }]);
  });

  it("are all of its environment but for the few variables that it needs to run", async () => {
    const environment = { ...process.env, DEVTOOL_SECRET: "canary" };
    const value = {
      command: process.execPath,
      args: [serverProgram("server-everything")],
      env: { GIVEN: "yes" },
    };
    const server = create(McpServerSchema, {
      name: "s",
      transport: { case: "stdio", value },
    });
    await using servers = serversOf([server], { environment }).servers;
    const text = textOf(
      await play(toolNamed(await servers.tools(signal), "get-env"), {}, signal),
    );
    expect(text).toContain('"GIVEN": "yes"');
    expect(text).not.toContain("canary");
  });
});

describe.each([
  {
    name: "Streamable HTTP",
    argument: "streamableHttp",
    path: "/mcp",
    transport: "http" as const,
  },
  {
    name: "HTTP with server-sent events",
    argument: "sse",
    path: "/sse",
    transport: "sse" as const,
  },
])("a server over $name", ({ argument, path, transport }) => {
  let program: ChildProcess;
  let settings: McpServer;

  beforeAll(async () => {
    const port = await freePort();
    program = await startProgram(argument, port);
    const value = { url: `http://127.0.0.1:${port}${path}` };
    settings = create(McpServerSchema, {
      name: "remote",
      transport: { case: transport, value },
    });
  });

  afterAll(() => void program.kill());

  it("answers, shows progress and asks", async () => {
    await using servers = serversOf([settings]).servers;
    const tools = await servers.tools(signal);
    expect(
      textOf(await play(toolNamed(tools, "__echo"), { message: "hi" }, signal)),
    ).toBe("Echo: hi");
    const long = await play(
      toolNamed(tools, "long-running-operation"),
      { duration: 0.5, steps: 2 },
      signal,
    );
    expect(long.events.some((event) => event.case === "progress")).toBe(true);
    const asked = await play(
      toolNamed(tools, "trigger-elicitation-request"),
      {},
      signal,
      () => ({
        optionId: "proceed_once",
        text: '{"name": "Ada"}',
      }),
    );
    expect(textOf(asked)).toContain("Name: Ada");
  });

  // Older transports do not say which call a question belongs to; there it is
  // put to the newest one. Over stdio a server of 2025 cannot say which of its
  // calls asks.
  if (transport !== "http") return;
  it("asks about the call that it runs, when it runs two", async () => {
    await using servers = serversOf([settings]).servers;
    const tool = toolNamed(
      await servers.tools(signal),
      "trigger-elicitation-request",
    );
    const both = ["Ada", "Grace"].map(async (name) => {
      const answer = () => ({
        optionId: "proceed_once",
        text: JSON.stringify({ name }),
      });
      expect(textOf(await play(tool, {}, signal, answer))).toContain(
        `Name: ${name}`,
      );
    });
    await Promise.all(both);
  });

  it("that disconnects during a call fails it with a message", async () => {
    await using servers = serversOf([settings]).servers;
    const tool = toolNamed(
      await servers.tools(signal),
      "long-running-operation",
    );
    const invocation = await tool.prepare({ duration: 60, steps: 600 }, signal);
    const results = [];
    for await (const event of invocation.execute(signal)) {
      if (event.case === "progress") program.kill("SIGKILL");
      if (event.case === "result") results.push(event.value);
    }
    expect(results).toMatchObject([
      { case: "error", value: { type: "mcp_tool_error" } },
    ]);
  });
});

function everything(
  more: MessageInitShape<typeof McpServerSchema> = {},
): McpServer {
  return nodeServer(
    "everything",
    [serverProgram("server-everything"), "stdio"],
    more,
  );
}

function files(workspace: string): McpServer {
  return nodeServer("files", [serverProgram("server-filesystem"), workspace]);
}

function memory(workspace: string): McpServer {
  const env = {
    ...COMPILE_CACHE,
    MEMORY_FILE_PATH: join(workspace, "memory.json"),
  };
  const value = {
    command: process.execPath,
    args: [serverProgram("server-memory")],
    env,
  };
  return create(McpServerSchema, {
    name: "memory",
    transport: { case: "stdio", value },
  });
}

/**
 * Starts the reference server on a port; it says on standard error when it
 * listens.
 */
async function startProgram(
  argument: string,
  port: number,
): Promise<ChildProcess> {
  const program = spawn(
    process.execPath,
    [serverProgram("server-everything"), argument],
    {
      env: { ...process.env, PORT: String(port) },
      stdio: ["ignore", "ignore", "pipe"],
    },
  );
  const listens = Promise.withResolvers<void>();
  // It is read to the end: a program whose standard error is closed dies of it.
  program.stderr?.on(
    "data",
    (chunk: Buffer) => chunk.includes(`port ${port}`) && listens.resolve(),
  );
  await listens.promise;
  return program;
}
