import { ConnectError } from "@connectrpc/connect";
import { acpAgent } from "@devtool/acp";
import { fakeAgentCommand } from "@devtool/acp/testing";
import { type DevtoolClient, textMessage } from "@devtool/client";
import { temporaryDirectory } from "@devtool/internal/testing/temporary-directory";
import { TaskState } from "@devtool/schema";
import { createServer, type DevtoolServer } from "@devtool/server";
import { afterEach, beforeEach, describe, expect, it } from "vitest";
import { createIssuer } from "../auth/issuer.ts";
import { clientOf } from "../client-of.ts";

/**
 * The line with which the fake agent says that its session has one option,
 * which is private to it.
 */
const PRIVATE_OPTION = `update ${JSON.stringify({
  sessionUpdate: "config_option_update",
  configOptions: [
    {
      type: "select",
      id: "secret-option",
      name: "Secret",
      category: "thought_level",
      currentValue: "a",
      options: [{ value: "a", name: "a" }],
    },
  ],
})}`;
/**
 * The line with which it says that its session has one command, as of an MCP
 * server that the client brought.
 */
const PRIVATE_COMMAND = `update ${JSON.stringify({
  sessionUpdate: "available_commands_update",
  availableCommands: [
    { name: "secret-command", description: "Of one session." },
  ],
})}`;

let workspace: string;
let server: DevtoolServer;
let alice: DevtoolClient;
let bob: DevtoolClient;

beforeEach(async () => {
  workspace = temporaryDirectory();
  const issuer = await createIssuer();
  const fake = acpAgent({ name: "fake", command: fakeAgentCommand() });
  server = await createServer({
    agents: { fake },
    workspace,
    authentication: { jwt: issuer.options },
  });
  const [hers, his] = await Promise.all(
    ["alice", "bob"].map((name) => issuer.tokenFor(name)),
  );
  alice = clientWith(hers);
  bob = clientWith(his);
});

afterEach(() => server.close());

describe("an ACP agent with several callers", () => {
  it("judges the options of a first message by a new session, and names those of no other", async () => {
    await alice.tasks.sendMessage({
      message: textMessage("a1", PRIVATE_OPTION),
    });
    for (const [caller, id] of [
      [alice, "a2"],
      [bob, "b1"],
    ] as const) {
      const refused = await caller.tasks
        .sendMessage(withOption(id))
        .catch(ConnectError.from);
      expect(String(refused)).toContain("choose effort");
      expect(String(refused)).not.toContain("secret");
    }
    expect((await bob.tasks.listTasks({})).tasks).toEqual([]);
  });

  it("judges them by the session of the conversation, where it runs", async () => {
    const { task: first } = await alice.tasks.sendMessage({
      message: textMessage("a1", "say Hi."),
    });
    await alice.tasks.sendMessage({
      message: textMessage("a2", PRIVATE_OPTION),
    });
    const taskId = first?.id ?? "";
    const { task } = await alice.tasks.sendMessage({
      ...withOption("a3", "effort", "high"),
      taskId,
    });
    expect(task?.state).toBe(TaskState.COMPLETED);
    const refused = await alice.tasks
      .sendMessage({ ...withOption("a4"), taskId })
      .catch(ConnectError.from);
    expect(String(refused)).toContain("choose effort");
  });

  it("lists the commands of a caller's own sessions", async () => {
    await alice.tasks.sendMessage({
      message: textMessage("a1", PRIVATE_COMMAND),
    });
    expect(await commandsOf(alice)).toEqual(["secret-command"]);
    expect(await commandsOf(bob)).toEqual(["memory", "say"]);
  });
});

function clientWith(token: string | undefined): DevtoolClient {
  return clientOf({ url: server.url, token: token ?? "" });
}

function withOption(messageId: string, id = "none", value = "x") {
  return {
    message: textMessage(messageId, "say Hi."),
    sessionSettings: { agentOptions: { [id]: value } },
  };
}

async function commandsOf(client: DevtoolClient): Promise<string[]> {
  const { commands } = await client.commands.getAllSlashCommands({});
  return commands.map(({ name }) => name).toSorted();
}
