import { fileURLToPath } from "node:url";
import { toJsonString } from "@bufbuild/protobuf";
import { type DevtoolClient, textMessage } from "@devtool/client";
import { serveCodingAgent } from "@devtool/coding-agent";
import { temporaryDirectory } from "@devtool/internal/testing/temporary-directory";
import { createMcp } from "@devtool/mcp";
import {
  ApprovalMode,
  isTerminal,
  type McpServer,
  type Task,
  TaskSchema,
  TaskState,
  toolCallsOf,
} from "@devtool/schema";
import type { DevtoolServer } from "@devtool/server";
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { bareRun, postRun } from "../ag-ui/post-run.ts";
import { CLIENTS, clientOf } from "../client-of.ts";
import { variantsOf } from "../depth.ts";
import { nodeServer } from "./servers.ts";

const ODD = fileURLToPath(new URL("odd-server.ts", import.meta.url));

describe("MCP servers that a later message brings (SESSION-4)", () => {
  const dataDirectory = temporaryDirectory();
  let server: DevtoolServer;
  beforeAll(async () => {
    server = await serve("all");
  });
  afterAll(() => server.close());

  const serve = (clientMcpServers: "all" | "http") =>
    serveCodingAgent({
      clientMcpServers,
      dataDirectory,
      workspace: temporaryDirectory(),
      approvalMode: ApprovalMode.YOLO,
      sandbox: "none",
      mcp: createMcp(),
      onNotice: () => undefined,
    });

  it.each(variantsOf("clients", Object.entries(CLIENTS), 3))(
    "are there from then on, beside the first one, which keeps running, over %s",
    async (_binding, over) => {
      const client = over(server);
      const servers = [named("one"), named("two")] as const;
      const [first, second] = servers;
      const one = await send(client, "call mcp__one__say {}", [first]);
      const two = await send(client, BOTH, [second], one);
      expect(said(two).slice(-2)).toEqual(["one 2", "two 1"]);
      // Those that the session has need not be named, and may be.
      const three = await send(client, BOTH, [], two);
      const four = await send(client, BOTH, [...servers], three);
      expect(said(four).slice(-2)).toEqual(["one 4", "two 3"]);
      // A new task of the context has them too.
      const { contextId } = four;
      const fifth = await send(client, BOTH, [], { contextId });
      expect(said(fifth)).toEqual(["one 5", "two 4"]);
    },
  );

  it("are there over AG-UI", async () => {
    const run = bareRun(crypto.randomUUID());
    const post = (content: string, mcpServers: object[]) => {
      const forwardedProps = { devtool: { sessionSettings: { mcpServers } } };
      const id = crypto.randomUUID();
      const messages = [{ id, role: "user", content }];
      const runId = crypto.randomUUID();
      return postRun(server, { ...run, runId, messages, forwardedProps });
    };
    await post("call mcp__one__say {}", [jsonOf(named("one"))]);
    const { body } = await post(BOTH, [jsonOf(named("two"))]);
    expect(body).toContain("two 1");
    expect(body).toContain("one 2");
  });

  it("are there with a slash command, and in /mcp list", async () => {
    const client = clientOf(server);
    const { contextId } = await send(client, "text Hi.", [named("one")]);
    const { result } = await client.commands.runSlashCommand({
      contextId,
      command: { commandPath: ["mcp", "list"] },
      sessionSettings: { mcpServers: [named("two")] },
    });
    const listed = await end(client, result?.executionId ?? "");
    expect(textOf(listed)).toMatch(/one - .*\n?.*two - /);
  });

  it("wait with a message that waits, and steer no turn", async () => {
    const client = clientOf(server);
    const first = await client.tasks.sendMessage({
      message: textMessage("q1", "run sleep 1\ncall mcp__one__say {}"),
      sessionSettings: { mcpServers: [named("one")] },
      returnImmediately: true,
    });
    const taskId = first.task?.id ?? "";
    await client.tasks.sendMessage({
      taskId,
      message: textMessage("q2", "call mcp__two__say {}"),
      messageSettings: { delivery: 1 },
      sessionSettings: { mcpServers: [named("two", "queued")] },
      returnImmediately: true,
    });
    // The name is taken as soon as a message that waits has it.
    await expect(
      send(client, "text No.", [named("two")], { id: taskId, contextId: "" }),
    ).rejects.toThrow(TAKEN);
    expect(said(await end(client, taskId))).toEqual(["one 1", "queued 1"]);
  });

  it("have no secret of theirs in anything that clients read, and no variable replaced", async () => {
    const client = clientOf(server);
    const secret = "s3cret-of-the-editor";
    // biome-ignore lint/suspicious/noTemplateCurlyInString: what is not replaced.
    const literal = "${HOME} $HOME ${env:HOME}";
    const two = named("two", literal, { TOKEN: secret });
    const one = await send(client, "text Hi.", [named("one")]);
    const task = await send(client, "call mcp__two__say {}", [two], one);
    const again = await send(client, "call mcp__two__say {}", [], task);
    expect(said(again)).toContain(`${literal} 1`);
    const { id: taskId } = again;
    const whole = await client.tasks.getTask({ taskId });
    const seen: unknown[] = [toJsonString(TaskSchema, whole.task ?? task)];
    const abort = new AbortController();
    for await (const { event } of client.tasks.subscribeTask(
      { taskId, afterSequence: 0n },
      { signal: abort.signal },
    )) {
      seen.push(event?.payload);
      if (event?.sequence === again.sequence) break;
    }
    const text = JSON.stringify(seen, (_key, value) =>
      typeof value === "bigint" ? String(value) : value,
    );
    expect(text).toContain("[hidden]");
    expect(text).not.toContain(secret);
  });

  it.each<[string, McpServer[], RegExp]>([
    [
      "has the name of another",
      [named("one", "other")],
      /differs from the server of that name that this session has: choose another name/,
    ],
    ["has no name", [named("")], /has a server without a name/],
    ["is named twice", [named("two"), named("two")], /"two" is named twice/],
    [
      "names a role",
      [{ ...named("two"), roles: ["ops"] }],
      /only the operator may/,
    ],
  ])(
    "are refused, and cost the session nothing, where one %s",
    async (_why, brought, problem) => {
      const client = clientOf(server);
      const one = await send(client, "call mcp__one__say {}", [named("one")]);
      const { contextId } = one;
      for (const place of [one, { contextId }]) {
        await expect(send(client, "text No.", brought, place)).rejects.toThrow(
          problem,
        );
      }
      const after = await send(client, "call mcp__one__say {}", [], one);
      expect(said(after).at(-1)).toBe("one 2");
    },
  );

  it("are refused where one is more than 32, with the first message or later ones", async () => {
    const client = clientOf(server);
    const many = Array.from({ length: 33 }, (_one, at) => named(`s${at}`));
    const refused =
      /mcp_servers "s32" is more than the 32 MCP servers .*: leave/;
    await expect(send(client, "text No.", many)).rejects.toThrow(refused);
    const { contextId } = await send(client, "text Hi.", many.slice(0, 1));
    const next = { contextId };
    await expect(send(client, "text No.", many.slice(1), next)).rejects.toThrow(
      refused,
    );
    // Those that the session has count once.
    await send(client, "text Hi.", many.slice(0, 2), next);
    await expect(send(client, "text No.", many.slice(2), next)).rejects.toThrow(
      refused,
    );
  });

  it("are refused with an answer, and with a retry of another message", async () => {
    const client = clientOf(server);
    const message = textMessage(crypto.randomUUID(), "text Hi.");
    const { task } = await client.tasks.sendMessage({ message });
    const { id: taskId = "" } = task ?? {};
    const next = textMessage(crypto.randomUUID(), "text Two.");
    const sessionSettings = { mcpServers: [named("two")] };
    const sent = { message: next, taskId, sessionSettings };
    await client.tasks.sendMessage(sent);
    const { replay } = await client.tasks.sendMessage(sent);
    expect(replay?.messageId).toBe(next.messageId);
    const other = { mcpServers: [named("three")] };
    await expect(
      client.tasks.sendMessage({ ...sent, sessionSettings: other }),
    ).rejects.toThrow("differ from those with which this message was sent");
  });

  it("are there after a restart, and not where clients may bring none any more", async () => {
    const client = clientOf(server);
    const one = await send(client, "text Hi.", [named("one")]);
    const two = await send(
      client,
      "call mcp__two__say {}",
      [named("two")],
      one,
    );
    await server.close();
    server = await serve("all");
    const { contextId } = two;
    const later = await send(clientOf(server), BOTH, [], { contextId });
    expect(said(later)).toEqual(["one 1", "two 1"]);
    await server.close();
    server = await serve("http");
    const fresh = clientOf(server);
    const http = await send(fresh, "text Hi.", []);
    await expect(send(fresh, "text No.", [named("two")], http)).rejects.toThrow(
      "clients may not add servers that run a command",
    );
    await expect(send(fresh, BOTH, [], { contextId })).rejects.toThrow(
      "clients may not add servers that run a command",
    );
  });
});

const BOTH = "call mcp__one__say {}\ncall mcp__two__say {}";
const TAKEN = "differs from the server of that name that this session has";

/**
 * A server that no other test has, whose tool counts its calls: a new process
 * begins with 1.
 */
function named(name: string, word = name, env: Record<string, string> = {}) {
  const results = Array.from({ length: 9 }, (_one, at) => ({
    result: { content: [{ type: "text", text: `${word} ${at + 1}` }] },
  }));
  const tools = [{ name: "say", inputSchema: { type: "object" } }];
  const answers = {
    "tools/list": { result: { tools } },
    "tools/call": results,
  };
  const own = crypto.randomUUID();
  const made = nodeServer(name, [ODD, JSON.stringify({ answers }), own]);
  const { transport } = made;
  if (transport.case === "stdio") Object.assign(transport.value.env, env);
  return made;
}

function jsonOf({ name, transport }: McpServer): object {
  const { command, args, env } = Object(transport.value);
  return { name, stdio: { command, args, env } };
}

/** Sends a message to a place, and returns its task at the end of the turn. */
async function send(
  client: DevtoolClient,
  text: string,
  mcpServers: McpServer[],
  place?: { readonly id?: string; readonly contextId: string },
): Promise<Task> {
  const { task } = await client.tasks.sendMessage({
    message: textMessage(crypto.randomUUID(), text),
    taskId: place?.id ?? "",
    contextId: place?.contextId ?? "",
    sessionSettings: { mcpServers },
  });
  return end(client, task?.id ?? "");
}

async function end(client: DevtoolClient, taskId: string): Promise<Task> {
  return expect
    .poll(async () => (await client.tasks.getTask({ taskId })).task, {
      timeout: 30_000,
    })
    .toSatisfy(
      (task: Task | undefined) =>
        task !== undefined &&
        task.queuedMessages.length === 0 &&
        (isTerminal(task.state) || task.state === TaskState.INPUT_REQUIRED),
    )
    .then(async () => {
      const { task } = await client.tasks.getTask({ taskId });
      return task ?? expect.fail("no task");
    });
}

/** What the calls of a task came to. */
function said({ history }: Task): string[] {
  return history.flatMap(toolCallsOf).flatMap(({ result, toolName }) => {
    if (!toolName.startsWith("mcp__")) return [];
    return result.case === "output" && result.value.result.case === "text"
      ? [result.value.result.value]
      : [JSON.stringify(result.value)];
  });
}

function textOf({ history }: Task): string {
  return history
    .flatMap(({ parts }) => parts)
    .flatMap(({ content }) => (content.case === "text" ? [content.value] : []))
    .join("\n");
}
