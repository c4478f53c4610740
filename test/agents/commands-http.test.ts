import { createClient } from "@connectrpc/connect";
import { createA2aTransport } from "@devtool/client/a2a";
import { serveCodingAgent } from "@devtool/coding-agent";
import { temporaryDirectory } from "@devtool/internal/testing/temporary-directory";
import { SlashCommandService } from "@devtool/schema";
import type { DevtoolServer } from "@devtool/server";
import { afterAll, beforeAll, describe, expect, it } from "vitest";

type Json = Record<string, unknown>;

describe.each([
  { version: "0.3", prefix: "/v1" },
  { version: "1.0", prefix: "" },
])(
  "slash commands over HTTP+JSON of A2A $version (CMD-1)",
  ({ version, prefix }) => {
    let server: DevtoolServer;
    let workspace: string;
    beforeAll(async () => {
      workspace = temporaryDirectory();
      server = await serveCodingAgent({
        workspace,
        dataDirectory: temporaryDirectory(),
      });
    });
    afterAll(() => server.close());

    it("are listed, each group with a description", async () => {
      const { commands } = await json(
        await call(
          "GET",
          `/commands?workspace_path=${encodeURIComponent(workspace)}`,
        ),
      );
      const named = new Map(
        Object.values(Object(commands)).map((command) => [
          Object(command).name,
          command,
        ]),
      );
      expect(named.get("stats")).toMatchObject({
        description:
          "Shows the time, tokens, cost and tool calls of this conversation",
      });
      expect(named.get("memory")).toMatchObject({
        description: expect.stringContaining("memory files"),
      });
      expect(named.get("mcp")).toMatchObject({
        description: expect.stringContaining("MCP servers"),
      });
    });

    it("start, and stream their updates to a client that accepts a stream", async () => {
      const started = await json(
        await call("POST", "/commands:execute", { command_path: ["about"] }),
      );
      expect(started).toMatchObject({
        status: "STARTED",
        execution_id: expect.any(String),
      });
      const body = { command_path: ["about"] };
      const streamed = await call("POST", "/commands:execute", body, {
        accept: "text/event-stream",
      });
      expect(streamed.headers.get("content-type")).toBe("text/event-stream");
      const events = [
        ...(await streamed.text()).matchAll(/^data: (.*)$/gm),
      ].map(([, data = "{}"]): Json => JSON.parse(data));
      expect(events[0]).toMatchObject({ status: "STARTED" });
      expect(JSON.stringify(events.at(-1))).toContain("TASK_STATE_COMPLETED");
    });

    it("find their conversation by context_id, and name what to send without one", async () => {
      const contextId = await conversation();
      for (const place of [{ context_id: contextId }, { contextId }]) {
        expect(await outputOf({ command_path: ["stats"], ...place })).toContain(
          "1 of your messages",
        );
      }
      expect(await outputOf({ command_path: ["stats"] })).toContain(
        "send its context_id with the command",
      );
      expect(
        await outputOf({ command_path: ["compress"], context_id: "nope" }),
      ).toContain('in context \\"nope\\"');
    });

    it("are refused with a context that cannot be read", async () => {
      const rows: [Json, string][] = [
        [{ context_id: 5 }, "context_id must be a string, got 5"],
        [
          { context_id: "a", contextId: "b" },
          'context_id \\"a\\" differs from contextId',
        ],
        [{ workspace_path: "" }, "workspace_path is empty"],
        [{ workspace_path: null }, "workspace_path is empty"],
        [
          { allowed_tools: ["read_file"] },
          "params.allowed_tools is in the wrong place",
        ],
        [
          { AgentSettings: { workspace_path: "/tmp" } },
          "params.AgentSettings is in the wrong place",
        ],
        [{ workspace_path: "relative" }, "must be an absolute path"],
        [
          { metadata: { workspace_path: "/tmp" } },
          "metadata.workspace_path is in the wrong place",
        ],
      ];
      for (const [place, says] of rows) {
        const response = await call("POST", "/commands:execute", {
          command_path: ["about"],
          ...place,
        });
        expect([response.status, await response.text()]).toEqual([
          400,
          expect.stringContaining(says),
        ]);
      }
    });

    it("fail to start for a checkpoint that does not exist (CMD-2)", async () => {
      const answer = await json(
        await call("POST", "/commands:execute", {
          command_path: ["restore"],
          args: "nosuch",
        }),
      );
      expect(answer).toMatchObject({
        status: "FAILED_TO_START",
        message: expect.stringContaining('checkpoint "nosuch" does not exist'),
      });
    });

    it("work with our client", async () => {
      const transport = createA2aTransport({
        ...server,
        protocolVersion: version,
        protocolBinding: "HTTP+JSON",
      });
      const client = createClient(SlashCommandService, transport);
      expect(
        (await client.getAllSlashCommands({})).commands.map(({ name }) => name),
      ).toContain("stats");
      const { result } = await client.runSlashCommand({
        command: { commandPath: ["about"] },
      });
      expect(result?.executionId).not.toBe("");
    });

    it.runIf(version === "0.3")(
      "stand beside the list of tasks, which 0.3 has here alone (section 3.5.6)",
      async () => {
        const contextId = await conversation();
        const listed = await json(
          await call(
            "GET",
            `/tasks?contextId=${contextId}&historyLength=1&status=TASK_STATE_COMPLETED`,
          ),
        );
        expect(listed).toMatchObject({
          tasks: [
            {
              contextId,
              status: { state: "TASK_STATE_COMPLETED" },
              history: [{ role: "ROLE_AGENT" }],
            },
          ],
          nextPageToken: "",
        });
        const first = await json(await call("GET", "/tasks?pageSize=1"));
        expect(first.tasks).toHaveLength(1);
        const next = await json(
          await call(
            "GET",
            `/tasks?pageSize=1&pageToken=${String(first.nextPageToken)}`,
          ),
        );
        expect(next.tasks).not.toEqual(first.tasks);
        expect((await call("GET", "/tasks?status=odd")).status).toBe(400);
        const rpc = { jsonrpc: "2.0", id: 1, method: "tasks/list", params: {} };
        const response = await fetch(server.url, {
          method: "POST",
          headers: headers({}),
          body: JSON.stringify(rpc),
        });
        expect(await json(response)).toMatchObject({ error: { code: -32601 } });
      },
    );

    async function conversation(): Promise<string> {
      const text = { kind: "text", text: "text hi" };
      const message = {
        kind: "message",
        messageId: crypto.randomUUID(),
        role: "user",
        parts: [text],
      };
      const body = JSON.stringify({
        jsonrpc: "2.0",
        id: 1,
        method: "message/send",
        params: { message },
      });
      const { result } = await json(
        await fetch(server.url, { method: "POST", headers: headers({}), body }),
      );
      return String(Object(result).contextId);
    }

    async function outputOf(body: Json): Promise<string> {
      return (
        await call("POST", "/commands:execute", body, {
          accept: "text/event-stream",
        })
      ).text();
    }

    function call(
      method: string,
      path: string,
      body?: Json,
      more: Record<string, string> = {},
    ): Promise<Response> {
      return fetch(`${server.url}${prefix}${path}`, {
        method,
        headers: headers(more),
        ...(body && { body: JSON.stringify(body) }),
      });
    }

    function headers(more: Record<string, string>): Record<string, string> {
      return {
        "content-type": "application/json",
        authorization: `Bearer ${server.token}`,
        ...more,
      };
    }
  },
);

async function json(response: Response): Promise<Json> {
  const read: Json = JSON.parse(await response.text());
  return read;
}
