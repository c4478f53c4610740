import {
  confirmationPart,
  type DevtoolClient,
  pendingToolCalls,
  textMessage,
} from "@devtool/client";
import { codingAgent } from "@devtool/coding-agent";
import { temporaryDirectory } from "@devtool/internal/testing/temporary-directory";
import {
  ApprovalMode,
  findToolCallDetail,
  type Task,
  toolCallsOf,
} from "@devtool/schema";
import { createServer, type DevtoolServer } from "@devtool/server";
import type { Agent } from "@devtool/server/agent";
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { createIssuer, type Issuer } from "../auth/issuer.ts";
import { clientOf } from "../client-of.ts";
import { taskOf } from "../tasks.ts";

const ROLES = [
  { role: "devs", rights: ["run", "approve"], agents: ["one"] },
  { role: "leads", rights: ["run", "approve"] },
] as const;

describe("a call of another agent", () => {
  let issuer: Issuer;
  let server: DevtoolServer;
  beforeAll(async () => {
    issuer = await createIssuer();
    server = await createServer({
      agents: {
        one: codingAgent({
          agentCalls: { maxCalls: 2 },
          remoteAgents: [
            { name: "far", url: "http://127.0.0.1:9", description: "" },
          ],
        }),
        two: codingAgent(),
      },
      workspace: temporaryDirectory(),
      authentication: {
        roles: ROLES,
        jwt: { ...issuer.options, rolesClaim: "groups" },
      },
    });
  });
  afterAll(() => server.close());

  it("does not reach an agent that its caller's roles do not permit", async () => {
    const client = await as("devs");
    const { id } = await send(client, callOf("two", "text Hi."));
    const [call] = callsOf(await approve(client, id));
    expect(call?.result.value).toMatchObject({
      message: expect.stringContaining("not permitted to your roles"),
    });
  });

  it("is for the same principal, with the same roles", async () => {
    const client = await as("leads");
    const { id } = await send(client, callOf("two", "text Hi."));
    const done = await approve(client, id);
    const [call] = callsOf(done);
    const { delegation } =
      findToolCallDetail(done, call?.toolCallId ?? "") ?? {};
    const { task } = await client.tasks.getTask({
      taskId: delegation?.taskId ?? "",
    });
    expect(task).toMatchObject({
      principal: done.principal,
      sender: { roles: ["leads"] },
    });
  });

  it("has no agents elsewhere for others than the operator, whose token they get", async () => {
    const client = await as("leads");
    const task = await send(client, callOf("far", "text Hi."));
    const [call] = callsOf(task);
    expect(call?.result.value).toMatchObject({ type: "tool_not_registered" });
    const operator = await send(clientOf(server), callOf("far", "text Hi."));
    expect(pendingToolCalls(operator)).toHaveLength(1);
  });

  it("fails when the agent takes no answer, a decline neither", async () => {
    const roles = [
      { role: "runs", rights: ["run"] },
      { role: "reads", rights: ["read"] },
    ] as const;
    const jwt = { ...issuer.options, rolesClaim: "groups" };
    await using elsewhere = await createServer({
      agents: { two: codingAgent() },
      workspace: temporaryDirectory(),
      authentication: { roles, jwt },
    });
    const tokenOf = (role: string) =>
      issuer.tokenFor("bot", undefined, { groups: [role] });
    let token = await tokenOf("runs");
    const fetchAs: typeof fetch = (input, init) => {
      const request = new Request(input, init);
      request.headers.set("authorization", `Bearer ${token}`);
      return fetch(request);
    };
    await using calling = await createServer({
      agents: {
        one: codingAgent({
          remoteAgents: [
            {
              name: "far",
              url: elsewhere.url,
              description: "",
              fetch: fetchAs,
            },
          ],
        }),
      },
      workspace: temporaryDirectory(),
    });
    const client = clientOf(calling);
    const { id } = await send(client, callOf("far", "write made.txt made"));
    await approve(client, id);
    token = await tokenOf("reads");
    const refused = await approve(client, id);
    expect(pendingToolCalls(refused)).toHaveLength(1);
    const [call] = callsOf(await approve(client, id, "cancel"));
    expect(call?.result.value).toMatchObject({
      message: expect.stringMatching(/^agent far: .*right/),
    });
  });

  it("fails when its task has made as many as the limit", async () => {
    const client = await as("leads");
    const script = ["One", "Two", "Three"]
      .map((text) => callOf("two", `text ${text}.`))
      .join("\nnext\n");
    const { id } = await send(client, script);
    let task = await approve(client, id);
    for (let left = 3; left > 0 && pendingToolCalls(task).length > 0; left--) {
      task = await approve(client, id);
    }
    const results = callsOf(task).map(({ result }) => result.case);
    expect(results).toEqual(["output", "output", "error"]);
    expect(callsOf(task).at(-1)?.result.value).toMatchObject({
      message: expect.stringContaining("the limit is 2"),
    });
  });

  it("asks as the session of its task does, where the operator would not", async () => {
    const approvalMode = ApprovalMode.YOLO;
    await using free = await createServer({
      agents: {
        one: codingAgent({ approvalMode }),
        two: codingAgent({ approvalMode }),
      },
      workspace: temporaryDirectory(),
    });
    const client = clientOf(free);
    const message = textMessage(
      crypto.randomUUID(),
      callOf("two", "write made.txt made"),
    );
    const { task } = await client.tasks.sendMessage({
      message,
      sessionSettings: { approvalMode: ApprovalMode.DEFAULT },
    });
    const [question] = pendingToolCalls(await approve(client, task?.id ?? ""));
    expect(question?.confirmationRequest?.details).toMatchObject({
      case: "fileEditDetails",
    });
  });

  it("asks as its task does, where the operator allows the called agent more", async () => {
    await using mixed = await createServer({
      agents: {
        one: codingAgent(),
        two: codingAgent({ approvalMode: ApprovalMode.YOLO }),
      },
      workspace: temporaryDirectory(),
    });
    const client = clientOf(mixed);
    const { id } = await send(client, callOf("two", "write made.txt made"));
    expect(pendingToolCalls(await approve(client, id))).toHaveLength(1);
  });

  it("goes on with a task as the session is now: asking, or not at all", async () => {
    const approvalMode = ApprovalMode.YOLO;
    await using free = await createServer({
      agents: {
        one: codingAgent({ approvalMode }),
        two: codingAgent({ approvalMode }),
        own: ownAgent,
      },
      workspace: temporaryDirectory(),
    });
    const client = clientOf(free);
    const goOn = async (agent: string) => {
      const first = await send(client, callOf(agent, "text Hi."));
      const [call] = callsOf(first);
      const task_id = findToolCallDetail(first, call?.toolCallId ?? "")
        ?.delegation?.taskId;
      const args = JSON.stringify({ message: "write made.txt made", task_id });
      const { task } = await client.tasks.sendMessage({
        message: textMessage(
          crypto.randomUUID(),
          `call agent_${agent} ${args}`,
        ),
        taskId: first.id,
        sessionSettings: { approvalMode: ApprovalMode.DEFAULT },
      });
      return approve(client, task?.id ?? "");
    };
    const [question] = pendingToolCalls(await goOn("two"));
    expect(question?.confirmationRequest?.details.case).toBe("fileEditDetails");
    const refused = callsOf(await goOn("own")).at(-1);
    expect(refused?.result.value).toMatchObject({
      message: expect.stringContaining("does not follow approval_mode"),
    });
  });

  async function as(role: string): Promise<DevtoolClient> {
    const token = await issuer.tokenFor("ada", undefined, { groups: [role] });
    return clientOf({ url: server.url, token });
  }
});

/** An agent that follows nothing. */
const ownAgent: Agent = {
  about: { name: "Own", description: "Publishes." },
  open: () => ({
    createExecutor: () => ({
      async *execute(turn) {
        yield* turn.say("Hi.");
      },
    }),
  }),
};

function callOf(agent: string, message: string): string {
  return `call agent_${agent} ${JSON.stringify({ message })}`;
}

async function send(client: DevtoolClient, text: string): Promise<Task> {
  const message = textMessage(crypto.randomUUID(), text);
  const { task } = await client.tasks.sendMessage({ message });
  if (!task) throw new Error("there is no task");
  return taskOf(client, task.id);
}

async function approve(
  client: DevtoolClient,
  taskId: string,
  option = "proceed_once",
): Promise<Task> {
  const parts = pendingToolCalls(await taskOf(client, taskId)).map((call) =>
    confirmationPart(call, option),
  );
  const message = { messageId: crypto.randomUUID(), parts };
  await client.tasks.sendMessage({ message, taskId });
  return taskOf(client, taskId);
}

function callsOf(task: Task) {
  return task.history.flatMap(toolCallsOf);
}
