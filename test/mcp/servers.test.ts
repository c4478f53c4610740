import { existsSync } from "node:fs";
import { readFile, writeFile } from "node:fs/promises";
import { createServer } from "node:http";
import { join } from "node:path";
import { fileURLToPath } from "node:url";
import { create, type MessageInitShape } from "@bufbuild/protobuf";
import { durationFromMs } from "@bufbuild/protobuf/wkt";
import type { Question } from "@devtool/coding-agent/tool";
import { temporaryDirectory } from "@devtool/internal/testing/temporary-directory";
import { type McpServer, McpServerSchema } from "@devtool/schema";
import { describe, expect, it, onTestFinished, vi } from "vitest";
import { COMPILE_CACHE } from "../compile-cache-variable.ts";
import {
  errorOf,
  nodeServer,
  play,
  serversOf,
  textOf,
  toolNamed,
} from "./servers.ts";

const signal = AbortSignal.timeout(300_000);
const MODERN = fileURLToPath(new URL("modern-server.ts", import.meta.url));
const CHAOS = fileURLToPath(new URL("chaos-server.ts", import.meta.url));

/**
 * A server of the newest revision that answers nothing before there is a file
 * `go`, and then an older handshake as it is told: with the error -32022 before
 * it answers the probe.
 */
const lateServer = (go: string, starts: string, handshake: string): string => `
const lines = require("node:readline").createInterface({ input: process.stdin });
const say = (message) => console.log(JSON.stringify({ jsonrpc: "2.0", ...message }));
const serverInfo = { name: "late", version: "1" };
const results = {
  "server/discover": { supportedVersions: ["2026-07-28"], capabilities: { tools: {} }, serverInfo },
  "tools/list": { tools: [{ name: "deploy", inputSchema: { type: "object" } }] },
};
lines.pause();
fs.appendFileSync(${JSON.stringify(starts)}, "x");
const isFirst = fs.readFileSync(${JSON.stringify(starts)}, "utf8") === "x";
const timer = setInterval(() => {
  if (!fs.existsSync(${JSON.stringify(go)})) return;
  clearInterval(timer);
  lines.on("line", (line) => {
    const { id, method } = JSON.parse(line);
    if (method === "initialize") say({ id, ...${handshake} });
    else if (!isFirst || ${!handshake.includes("-32022")}) say({ id, result: results[method] });
  });
  lines.resume();
}, 20);`;

describe("a server of the newest revision", () => {
  it("asks, is answered with one of its choices, and answers", async () => {
    await using servers = serversOf([nodeServer("modern", [MODERN])], {
      originOf: () => "client",
    }).servers;
    const questions: Question[] = [];
    const tool = toolNamed(await servers.tools(signal), "deploy");
    const played = await play(tool, { name: "app" }, signal, (question) => {
      questions.push(question);
      return { optionId: 'value:"live"', text: "" };
    });
    expect(textOf(played)).toBe("app is live");
    expect(questions.map(({ description }) => description)).toEqual([
      expect.stringMatching(
        /^MCP server modern \(.+, named by the client\) asks$/,
      ),
    ]);
    expect(
      questions.map(({ options }) => options.map(({ id, name }) => [id, name])),
    ).toEqual([
      [
        ['value:"test"', "test"],
        ['value:"live"', "live"],
        ["cancel", "Decline"],
      ],
    ]);
  });

  it.each([
    '{ error: { code: -32022, message: "no" } }',
    '{ error: { code: -32601, message: "no" } }',
    '{ result: { protocolVersion: "2025-11-25", capabilities: { tools: {} }, serverInfo } }',
  ])(
    "is not taken for an old one when it starts late, and answers an older handshake with %s",
    async (handshake) => {
      vi.useFakeTimers({ toFake: ["setTimeout", "clearTimeout"] });
      onTestFinished(() => void vi.useRealTimers());
      const directory = temporaryDirectory();
      const go = join(directory, "go");
      const starts = join(directory, "starts");
      const { servers, notices } = serversOf([
        nodeServer("late", ["-e", lateServer(go, starts, handshake)]),
      ]);
      await using _servers = servers;
      const tools = servers.tools(signal);
      await expect.poll(() => existsSync(starts)).toBe(true);
      // The time of the probe is over.
      vi.advanceTimersByTime(10_000);
      vi.useRealTimers();
      await writeFile(go, "");
      expect(namesOf(await tools)).toEqual(["mcp__late__deploy"]);
      expect(await readFile(starts, "utf8")).toBe("xx");
      expect(notices).toEqual([]);
    },
  );

  it("is told that the user declined", async () => {
    await using servers = serversOf([nodeServer("modern", [MODERN])]).servers;
    const played = await play(
      toolNamed(await servers.tools(signal), "deploy"),
      { name: "app" },
      signal,
    );
    expect(textOf(played)).toBe("app is nowhere");
  });

  it("gives a call up while the user is asked", async () => {
    await using servers = serversOf([nodeServer("modern", [MODERN])]).servers;
    const cancel = new AbortController();
    const invocation = await toolNamed(
      await servers.tools(signal),
      "deploy",
    ).prepare({ name: "app" }, signal);
    const cancelled = (async () => {
      for await (const event of invocation.execute(cancel.signal)) {
        if (event.case === "question") cancel.abort();
      }
    })();
    await expect(cancelled).rejects.toThrow(/abort/);
  });

  it("cannot leave its name out of a question by what it calls a tool", async () => {
    await using servers = serversOf([nodeServer("modern", [MODERN])]).servers;
    const { description } = await toolNamed(
      await servers.tools(signal),
      "forge",
    ).prepare({}, signal);
    expect(description).toMatch(
      /^Read README\.md \[1 more line\] \(MCP server modern: \/.*\)$/,
    );
  });

  it("shows a tool that it got later", async () => {
    await using servers = serversOf([nodeServer("modern", [MODERN])]).servers;
    await play(toolNamed(await servers.tools(signal), "grow"), {}, signal);
    await vi.waitFor(
      async () => toolNamed(await servers.tools(signal), "grown"),
      60_000,
    );
  });
});

describe("a tool that its server changes (rug pull)", () => {
  it("is not called under the old description, and has another hash under the new one", async () => {
    await using servers = serversOf([chaos("change")]).servers;
    const [old, other] = ["fault", "echo"].map((name) =>
      servers.tools(signal).then((tools) => toolNamed(tools, name)),
    );
    const [tool, echo] = [await old, await other];
    if (!tool || !echo) throw new Error("there should be two tools");
    expect(textOf(await play(tool, {}, signal))).toBe("changed");
    expect(errorOf(await play(tool, {}, signal))).toEqual({
      type: "mcp_tool_error",
      message:
        "tool mcp__change__fault was changed by its server: ask for the tools again",
    });
    const tools = await servers.tools(signal);
    expect(toolNamed(tools, "fault").facts?.definitionHash).not.toBe(
      tool.facts?.definitionHash,
    );
    expect(toolNamed(tools, "echo").facts?.definitionHash).toBe(
      echo.facts?.definitionHash,
    );
    expect(toolNamed(tools, "fault").declaration.description).toContain(
      "Now it does more.",
    );
  });
});

describe("a server that crashes", () => {
  it("is started again on demand, each time later, and after five times only by a refresh", async () => {
    const clock = { nowMs: 0 };
    const { servers, notices } = serversOf([chaos("crash"), chaos("none")], {
      now: () => clock.nowMs,
    });
    await using _servers = servers;
    for (const waitMs of [0, 0, 1000, 2000, 4000]) {
      clock.nowMs += Math.max(0, waitMs - 1);
      if (waitMs > 0) {
        expect(namesOf(await servers.tools(signal))).not.toContain(
          "mcp__crash__fault",
        );
      }
      clock.nowMs += Math.min(1, waitMs);
      expect(
        errorOf(
          await play(
            toolNamed(await servers.tools(signal), "crash__fault"),
            {},
            signal,
          ),
        ).message,
      ).toMatch(
        /^MCP server "crash": it ended with exit code 7; what the call did until then is unknown$/,
      );
    }
    clock.nowMs += 24 * 3_600_000;
    expect(namesOf(await servers.tools(signal))).toEqual([
      "mcp__none__echo",
      "mcp__none__fault",
    ]);
    expect(servers.status()).toEqual([
      {
        name: "crash",
        state: "stopped",
        reason: 'MCP server "crash": it ended with exit code 7',
        toolCount: 0,
      },
      { name: "none", state: "ready", reason: "", toolCount: 2 },
    ]);
    expect(notices.at(-1)).toBe(
      'MCP server "crash": it ended with exit code 7',
    );
    expect(await servers.refresh(signal)).toMatchObject([
      { state: "ready", toolCount: 2 },
      { state: "ready" },
    ]);
  });

  it("is forgiven failures of more than three minutes ago", async () => {
    const clock = { nowMs: 0 };
    await using servers = serversOf([chaos("crash")], {
      now: () => clock.nowMs,
    }).servers;
    for (let crash = 0; crash < 7; crash++) {
      await play(toolNamed(await servers.tools(signal), "fault"), {}, signal);
      clock.nowMs += 60_000;
    }
    expect(servers.status()).toMatchObject([{ state: "failed" }]);
  });

  it("is started again for a call of a tool that is still the same", async () => {
    await using servers = serversOf([chaos("crash")]).servers;
    const tools = await servers.tools(signal);
    await play(toolNamed(tools, "fault"), {}, signal);
    expect(
      textOf(await play(toolNamed(tools, "echo"), { again: true }, signal)),
    ).toBe('{"again":true}');
  });
});

describe("a server that sends too much", () => {
  it("is given up for that, before its call runs out of time", async () => {
    // A clock that stands still makes one second of the whole run, however slow
    // the machine is.
    await using servers = serversOf([chaos("flood")], { now: () => 0 }).servers;
    const played = await play(
      toolNamed(await servers.tools(signal), "fault"),
      {},
      signal,
    );
    expect(errorOf(played).message).toContain(
      "it sent more than 5000 messages within a second",
    );
    expect(servers.status()).toMatchObject([{ state: "failed" }]);
  });

  it("on one line is given up for that", async () => {
    const settings = chaos("line", {
      CHAOS_LINE_BYTES: String(9 * 1024 * 1024),
    });
    await using servers = serversOf([settings]).servers;
    const played = await play(
      toolNamed(await servers.tools(signal), "fault"),
      {},
      signal,
    );
    expect(errorOf(played).message).toContain(
      "it wrote a line of more than 8388608 bytes",
    );
  });
});

describe("a server that is not there", () => {
  it("is named with what it last said", async () => {
    const program = 'console.error("no licence found"); process.exit(3)';
    const { servers, notices } = serversOf([
      nodeServer("shy", ["-e", program]),
      chaos("none"),
    ]);
    await using _servers = servers;
    expect(namesOf(await servers.tools(signal))).toEqual([
      "mcp__none__echo",
      "mcp__none__fault",
    ]);
    expect(notices).toEqual([
      'MCP server "shy": it ended with exit code 3; its last words: no licence found',
    ]);
    expect(servers.status()).toMatchObject([
      { name: "shy", state: "failed" },
      { state: "ready" },
    ]);
  });

  it("is named with its error, and not with what npm and Node write before that", async () => {
    const program =
      'console.error("npm notice run npx"); throw new TypeError("no licence found")';
    const { servers, notices } = serversOf([
      nodeServer("shy", ["-e", program]),
    ]);
    await using _servers = servers;
    await servers.tools(signal);
    expect(notices).toEqual([
      expect.stringContaining(
        "; its last words: TypeError: no licence found\n",
      ),
    ]);
  });

  it("is named when there is no such program", async () => {
    const settings = server("lost", {
      case: "stdio",
      value: { command: "/no/such/program" },
    });
    const { servers, notices } = serversOf([settings]);
    await using _servers = servers;
    expect(await servers.tools(signal)).toEqual([]);
    expect(notices).toEqual([
      'MCP server "lost": it could not be started (spawn /no/such/program ENOENT)',
    ]);
  });

  it("does not hold up a turn for long, and is there for a later one", async () => {
    const directory = temporaryDirectory();
    const go = join(directory, "go");
    const program = `const timer = setInterval(() => fs.existsSync(${JSON.stringify(go)}) &&
      (clearInterval(timer), import(${JSON.stringify(CHAOS)})), 20)`;
    const { servers, notices } = serversOf(
      [nodeServer("slow", ["-e", program])],
      { waitMs: 100 },
    );
    await using _servers = servers;
    expect(await servers.tools(signal)).toEqual([]);
    expect(notices).toEqual(['MCP server "slow": it is not ready yet']);
    expect(servers.status()).toMatchObject([{ state: "connecting" }]);
    await writeFile(go, "");
    await vi.waitFor(
      () => expect(servers.status()).toMatchObject([{ state: "ready" }]),
      60_000,
    );
    await vi.waitFor(
      async () => toolNamed(await servers.tools(signal), "mcp__slow__echo"),
      60_000,
    );
  });

  it("is given up when it never answers", async () => {
    const settings = nodeServer("mute", ["-e", "setInterval(() => {}, 1000)"]);
    const { servers, notices } = serversOf([settings], {
      connectTimeoutMs: 300,
    });
    await using _servers = servers;
    expect(await servers.tools(signal)).toEqual([]);
    expect(notices).toEqual([
      'MCP server "mute": it did not answer within 300 ms',
    ]);
  });

  it("is started again when it crashed on a question that it did not know", async () => {
    const program = `process.stdin.once("data", (data) => String(data).includes("initialize")
      ? import(${JSON.stringify(CHAOS)}).then(() => process.stdin.emit("data", data)) : process.exit(1))`;
    await using servers = serversOf([
      nodeServer("old", ["-e", program]),
    ]).servers;
    expect(namesOf(await servers.tools(signal))).toEqual([
      "mcp__old__echo",
      "mcp__old__fault",
    ]);
  });

  it("over HTTP cannot fill our memory with one answer", async () => {
    const web = createServer((_request, response) => {
      response.writeHead(200, { "content-type": "application/json" });
      for (let megabytes = 0; megabytes < 9; megabytes++) {
        response.write("x".repeat(1024 * 1024));
      }
      response.end();
    });
    await new Promise<void>((resolve) => web.listen(0, "127.0.0.1", resolve));
    const address = web.address();
    const port = typeof address === "object" ? address?.port : 0;
    const settings = server("heavy", {
      case: "http",
      value: { url: `http://127.0.0.1:${port}/` },
    });
    const { servers, notices } = serversOf([settings]);
    await using _servers = servers;
    expect(await servers.tools(signal)).toEqual([]);
    expect(notices).toEqual([
      expect.stringContaining("it sent a message of more than 8388608 bytes"),
    ]);
    web.closeAllConnections();
    web.close();
  });
});

describe("servers that are ended", () => {
  it("leave no process, even when they ignore signals", async () => {
    const directory = temporaryDirectory();
    const pids = join(directory, "pids");
    {
      await using servers = serversOf([
        chaos("stubborn", { CHAOS_PIDS: pids }),
      ]).servers;
      await servers.tools(signal);
    }
    const [pid] = (await readFile(pids, "utf8")).split(" ");
    expect(() => process.kill(Number(pid), 0)).toThrow("ESRCH");
  });
});

describe("settings that cannot be used", () => {
  const stdio = { case: "stdio" as const, value: { command: "x" } };
  it.each([
    {
      what: "a server without a name",
      servers: [server("", stdio)],
      error: "has a server without a name",
    },
    {
      what: "two of the same name",
      servers: [server("a", stdio), server("a", stdio)],
      error: '"a" is named twice',
    },
    {
      what: "no transport",
      servers: [server("a")],
      error: '"a" has no transport',
    },
    {
      what: "no command",
      servers: [server("a", { case: "stdio", value: {} })],
      error: '"a" has no command',
    },
    {
      what: "an address that is not of the web",
      servers: [
        server("a", { case: "http", value: { url: "file:///etc/passwd" } }),
      ],
      error: '"a" has no http or https URL',
    },
  ])("are refused: $what", ({ servers, error }) => {
    expect(() => serversOf(servers)).toThrow(error);
  });
});

function chaos(
  fault: string,
  env: Readonly<Record<string, string>> = {},
): McpServer {
  const callTimeout = durationFromMs(20_000);
  const value = {
    command: process.execPath,
    args: [CHAOS, fault],
    env: { ...COMPILE_CACHE, ...env },
  };
  return create(McpServerSchema, {
    name: fault,
    transport: { case: "stdio", value },
    callTimeout,
  });
}

type Settings = Exclude<MessageInitShape<typeof McpServerSchema>, McpServer>;

function server(
  name: string,
  transport?: NonNullable<Settings["transport"]>,
): McpServer {
  return create(McpServerSchema, { name, ...(transport && { transport }) });
}

function namesOf(
  tools: readonly { readonly declaration: { readonly name: string } }[],
): string[] {
  return tools.map(({ declaration }) => declaration.name);
}
