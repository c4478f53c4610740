import { Code, ConnectError } from "@connectrpc/connect";
import {
  confirmationPart,
  type DevtoolClient,
  pendingToolCalls,
  textMessage,
} from "@devtool/client";
import { codingAgent } from "@devtool/coding-agent";
import { temporaryDirectory } from "@devtool/internal/testing/temporary-directory";
import { OPTION_PROCEED_ONCE, TaskState } from "@devtool/schema";
import {
  createServer,
  type DevtoolServer,
  type ServerOptions,
} from "@devtool/server";
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { CLIENTS, clientOf } from "../client-of.ts";
import { createIssuer, type Issuer } from "./issuer.ts";

const ROLES = [
  { role: "viewers", rights: ["read"] },
  { role: "devs", rights: ["run"], agents: ["one"] },
  { role: "leads", rights: ["run", "approve"] },
  { role: "auditors", rights: ["audit"] },
  { role: "watchers", rights: ["list_all"] },
  { role: "reviewers", rights: ["approve"], agents: ["two"] },
] as const;
const NO_RUN = 'right "run" is missing';
const NO_READ = 'right "read" is missing';
const NO_APPROVE = 'right "approve" is missing';
const REFUSALS =
  /right "\w+" is missing|agent "two" is not permitted to your roles: choose one/;
const NOT_TWO = 'agent "two" is not permitted to your roles: choose one';

/** The clients that have the lists of all callers. */
const ALL_LISTS = {
  Connect: CLIENTS.Connect,
  gRPC: CLIENTS.gRPC,
  "gRPC-Web": CLIENTS["gRPC-Web"],
};

describe("the rights of roles", () => {
  let issuer: Issuer;
  let server: DevtoolServer;
  let open: DevtoolServer;
  beforeAll(async () => {
    issuer = await createIssuer();
    server = await start({ roles: ROLES });
    open = await start({});
  });
  afterAll(async () => {
    await server.close();
    await open.close();
  });

  const start = (
    authentication: NonNullable<ServerOptions["authentication"]>,
    rolesClaim = true,
  ) =>
    createServer({
      agents: { one: codingAgent({}), two: codingAgent({}) },
      workspace: temporaryDirectory(),
      authentication: {
        ...authentication,
        jwt: {
          ...issuer.options,
          ...authentication.jwt,
          ...(rolesClaim && { rolesClaim: "groups" }),
        },
      },
    });
  const as = async ({ url }: DevtoolServer, ...groups: string[]) => ({
    url,
    token: await issuer.tokenFor("ada", undefined, { groups }),
  });

  it.each(Object.entries(CLIENTS))(
    "are refused alike over %s",
    async (_binding, over) => {
      const outcomes: unknown[] = [];
      for (const groups of [
        [],
        ["nobody", "local"],
        ["viewers"],
        ["auditors"],
        ["reviewers"],
        ["devs"],
        ["leads"],
        ["devs", "reviewers"],
        ["viewers", "leads"],
      ]) {
        const client = over(await as(server, ...groups));
        outcomes.push([groups.join(), ...(await outcomesOf(client))]);
      }
      expect(outcomes).toEqual([
        ["", NO_READ, NO_RUN, NO_RUN, ""],
        ["nobody,local", NO_READ, NO_RUN, NO_RUN, ""],
        ["viewers", "yes", NO_RUN, NO_RUN, ""],
        ["auditors", NO_READ, NO_RUN, NO_RUN, ""],
        ["reviewers", NO_READ, NO_RUN, NO_RUN, ""],
        ["devs", "yes", "yes", NOT_TWO, NO_APPROVE],
        ["leads", "yes", "yes", "yes", "yes"],
        // A role that cannot run an agent adds none.
        ["devs,reviewers", "yes", "yes", NOT_TWO, "yes"],
        ["viewers,leads", "yes", "yes", "yes", "yes"],
      ]);
    },
  );

  it("hold for commands, lists and the audit log, and leave the operator all", async () => {
    const dev = clientOf(await as(server, "devs"));
    const { agents } = await dev.agents.listAgents({});
    expect(agents.map(({ name }) => name)).toEqual(["one"]);
    const two = { sessionSettings: { agent: "two" } };
    const command = { commandPath: ["help"], args: "" };
    for (const call of [
      () => dev.agents.listModels({ agent: "two" }),
      () => dev.commands.getAllSlashCommands(two),
      () => dev.commands.runSlashCommand({ command, ...two }),
    ]) {
      await expect(call()).rejects.toMatchObject({
        code: Code.PermissionDenied,
      });
    }
    const viewer = clientOf(await as(server, "viewers"));
    await expect(viewer.commands.runSlashCommand({ command })).rejects.toThrow(
      NO_RUN,
    );
    const audit = (client: DevtoolClient) =>
      Array.fromAsync(client.audit.readAudit({}));
    await expect(audit(dev)).rejects.toThrow('right "audit" is missing');
    const auditor = clientOf(await as(server, "auditors"));
    expect(await audit(auditor)).toBeInstanceOf(Array);
    expect(await outcomesOf(clientOf(server))).toEqual(Array(4).fill("yes"));
  });

  it.each(Object.entries(ALL_LISTS))(
    "show the sessions of all callers to whom they permit it alone, over %s",
    async (_binding, over) => {
      const lead = over(await as(server, "leads"));
      const { task: { id = "" } = {} } = await lead.tasks.sendMessage({
        message: textMessage(crypto.randomUUID(), "text Secret answer."),
      });
      const asked = await lead.tasks.sendMessage({
        message: textMessage(crypto.randomUUID(), "write a.txt secret"),
      });
      for (const groups of [["leads", "auditors"], ["viewers"], []]) {
        const { tasks } = over(await as(server, ...groups));
        const refusal = 'right "list_all" is missing';
        await expect(tasks.listTasks({ allCallers: true })).rejects.toThrow(
          refusal,
        );
        await expect(firstOf(tasks)).rejects.toThrow(refusal);
      }
      const { tasks } = over(await as(server, "watchers"));
      await expect(tasks.listTasks({})).rejects.toThrow(NO_READ);
      for (const listing of [tasks, over(server).tasks]) {
        const listed = await listing.listTasks({ allCallers: true });
        const found = listed.tasks.find((each) => each.id === id);
        expect(found).toMatchObject({
          title: "text Secret answer.",
          principal: `${issuer.options.issuer}#ada`,
          lastEvent: { payload: { case: "stateChange" } },
        });
        const question = listed.tasks.find(
          (each) => each.id === asked.task?.id,
        );
        expect(question?.lastEvent?.payload).toMatchObject({
          value: { openCalls: [{ toolName: "write_file" }] },
        });
        const shown = [found, question].map((each) => each?.lastEvent);
        expect(JSON.stringify(shown, bigintText)).not.toMatch(/secret/i);
        const [first] = listed.tasks;
        expect((await firstOf(listing))?.id).toBe(first?.id);
      }
      // Their own tasks are not others'.
      const own = (await over(server).tasks.listTasks({})).tasks;
      expect(own.map((each) => each.principal)).not.toContain("local");
      await expect(tasks.getTask({ taskId: id })).rejects.toThrow(NO_READ);
    },
  );

  it("show changes and deletions of others' sessions as they happen", async () => {
    const lead = clientOf(await as(server, "leads"));
    const watcher = clientOf(await as(server, "watchers"));
    const left = new AbortController();
    const seen = watcher.tasks.watchTasks(
      { allCallers: true },
      { signal: left.signal },
    );
    const responses = seen[Symbol.asyncIterator]();
    const next = async () => (await responses.next()).value;
    while (!(await next())?.snapshotComplete);
    const { task: { id = "" } = {} } = await lead.tasks.sendMessage({
      message: textMessage(crypto.randomUUID(), "text Secret answer."),
    });
    let last = await next();
    while (last?.task?.lastEvent?.state !== TaskState.COMPLETED) {
      expect(JSON.stringify(last?.task?.lastEvent, bigintText)).not.toContain(
        "Secret",
      );
      last = await next();
    }
    expect(last.task).toMatchObject({
      id,
      principal: expect.stringMatching(/#ada$/),
    });
    await lead.tasks.deleteTask({ taskId: id });
    expect(await next()).toMatchObject({ task: { id }, removed: true });
    left.abort();
  });

  it("are as before without a list of roles", async () => {
    for (const groups of [[], ["viewers"]]) {
      const client = clientOf(await as(open, ...groups));
      expect(await outcomesOf(client)).toEqual(Array(4).fill("yes"));
    }
  });

  it("end with the role, also for a task and an agent that were begun with it", async () => {
    const lead = clientOf(await as(server, "leads"));
    const { task } = await lead.tasks.sendMessage({
      message: textMessage(crypto.randomUUID(), "text Hi."),
      sessionSettings: { agent: "two" },
    });
    const dev = clientOf(await as(server, "devs"));
    await expect(
      dev.tasks.sendMessage({
        taskId: task?.id ?? "",
        message: textMessage(crypto.randomUUID(), "text More."),
      }),
    ).rejects.toThrow(NOT_TWO);
  });

  it.each([
    [{ roles: ROLES, certificateRights: ["approve"] }, "cannot be used beside"],
    [{ roles: [ROLES[0], ROLES[0]] }, '"viewers" is there twice'],
    [{ roles: [{ role: "x", rights: [] }] }, '"x" has no rights'],
    [
      { roles: [{ role: "x", rights: ["run"], agents: ["three"] }] },
      '"three" is not served: choose one, two',
    ],
  ] as const)("stop the start for %j", async (settings, problem) => {
    await expect(start(settings)).rejects.toThrow(problem);
  });

  it("need credentials that name roles, unless they are everybody's", async () => {
    await expect(start({ roles: ROLES }, false)).rejects.toThrow(
      '"viewers" can be nobody\'s role: set roles_claim',
    );
    const roles = [{ role: "*", rights: ["read"] }] as const;
    await using all = await closing(start({ roles }, false));
    const outcomes = await outcomesOf(clientOf(await as(all.server)));
    expect(outcomes).toEqual(["yes", NO_RUN, NO_RUN, ""]);
  });
});

async function firstOf(tasks: DevtoolClient["tasks"]) {
  for await (const { task } of tasks.watchTasks({ allCallers: true })) {
    return task;
  }
  return undefined;
}

/** A replacer for JSON, which has no integers of 64 bits. */
function bigintText(_name: string, value: unknown): unknown {
  return typeof value === "bigint" ? String(value) : value;
}

async function closing(starting: Promise<DevtoolServer>) {
  const server = await starting;
  return { server, [Symbol.asyncDispose]: () => server.close() };
}

/**
 * What becomes of reading, of a message to the first agent and to the second,
 * and of an approval; the last is empty where no question was asked.
 */
async function outcomesOf({ tasks }: DevtoolClient): Promise<string[]> {
  const send = (text: string, agent: string) =>
    tasks.sendMessage({
      message: textMessage(crypto.randomUUID(), text),
      sessionSettings: { agent },
    });
  const asked = send("write a.txt a", "one");
  asked.catch(() => undefined);
  const outcomes = [
    await outcomeOf(tasks.getTask({ taskId: "none" })),
    await outcomeOf(asked),
    await outcomeOf(send("text Hi.", "two")),
  ];
  const { task } = await asked.catch(() => ({ task: undefined }));
  const [call] = task ? pendingToolCalls(task) : [];
  if (!task || !call) return [...outcomes, ""];
  const parts = [confirmationPart(call, OPTION_PROCEED_ONCE)];
  const message = { messageId: crypto.randomUUID(), parts };
  const answered = tasks.sendMessage({ taskId: task.id, message });
  return [...outcomes, await outcomeOf(answered)];
}

/** `yes`, or the reason for which a call is not permitted. */
async function outcomeOf(call: Promise<unknown>): Promise<string> {
  try {
    await call;
    return "yes";
  } catch (reason) {
    const { code, rawMessage } = ConnectError.from(reason);
    if (code === Code.NotFound) return "yes";
    // JSON-RPC has no code for it.
    const [refusal] = REFUSALS.exec(rawMessage) ?? [];
    if (refusal === undefined) throw reason;
    return refusal;
  }
}
