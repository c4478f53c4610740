import { Code } from "@connectrpc/connect";
import { createConnectTransport } from "@connectrpc/connect-node";
import {
  bearerInterceptor,
  confirmationPart,
  createDevtoolClient,
  type DevtoolClient,
  pendingToolCalls,
  textMessage,
} from "@devtool/client";
import { PostgresStore } from "@devtool/postgres";
import {
  findPostgres,
  startPostgres,
  withoutPostgres,
} from "@devtool/postgres/testing";
import {
  createServer,
  type DevtoolServer,
  type ServerOptions,
} from "@devtool/server";
import { describe, expect, it } from "vitest";
import { createIssuer } from "../auth/issuer.ts";
import { asking } from "./agents.ts";
import { type Execute, LEASE_MS } from "./replicas.ts";

const bin = findPostgres();
const why = withoutPostgres(bin);

describe.skipIf(bin === undefined)(
  `two principals at two servers (S12)${why}`,
  () => {
    it("cannot request anything of each other's tasks through the inbox", async () => {
      await using database = await startPostgres(bin ?? "");
      const issuer = await createIssuer();
      const start = () => startOf(database.url, issuer.options, asking([]));
      await using one = await start();
      await using other = await start();
      const alice = clientOf(one, await issuer.tokenFor("alice"));
      const { task: { id: taskId = "" } = {} } = await alice.tasks.sendMessage({
        message: textMessage("m1", "go"),
      });
      const before = await alice.tasks.getTask({ taskId });

      const { tasks } = clientOf(other, await issuer.tokenFor("bob"));
      const refused = await Promise.allSettled([
        tasks.getTask({ taskId }),
        tasks.sendMessage({ message: textMessage("m2", "more"), taskId }),
        tasks.withdrawMessage({ taskId, messageId: "m1" }),
        tasks.renameTask({ taskId, title: "Bob's" }),
        tasks.cancelTask({ taskId }),
      ]);
      const notFound = {
        status: "rejected",
        reason: expect.objectContaining({ code: Code.NotFound }),
      };
      expect(refused).toEqual(refused.map(() => notFound));
      // The same message of another principal is not a copy: it begins a task
      // of its own.
      const own = await tasks.sendMessage({ message: textMessage("m1", "go") });
      expect([own.replay, own.task?.id === taskId]).toEqual([undefined, false]);
      expect((await tasks.listTasks({})).tasks.map(({ id }) => id)).toEqual([
        own.task?.id,
      ]);
      const isUsed = async () =>
        (await database.run("SELECT is_called FROM devtool.inbox_id_seq"))[0]
          ?.is_called;
      expect(await isUsed()).toBe(false);
      expect(await alice.tasks.getTask({ taskId })).toEqual(before);

      // Alice herself can, at the server that does not run her task.
      await clientOf(other, await issuer.tokenFor("alice")).tasks.renameTask({
        taskId,
        title: "Alice's",
      });
      expect((await alice.tasks.getTask({ taskId })).task?.title).toBe(
        "Alice's",
      );
      expect(await isUsed()).toBe(true);
    });
  },
);

describe.skipIf(bin === undefined)(
  "answers through the inbox of a task",
  () => {
    it("need the right to approve, at the server that does not run the task, too", async () => {
      await using database = await startPostgres(bin ?? "");
      const issuer = await createIssuer();
      const ran: string[] = [];
      const start = () =>
        startOf(
          database.url,
          { ...issuer.options, approveScope: "devtool.approve" },
          asking(ran),
        );
      await using one = await start();
      await using other = await start();
      const [weak, strong] = [
        await issuer.tokenFor("alice"),
        await issuer.tokenFor("alice", "devtool.approve"),
      ];
      const { task: { id: taskId = "" } = {} } = await clientOf(
        one,
        weak,
      ).tasks.sendMessage({
        message: textMessage("m1", "go"),
      });
      const { task } = await clientOf(other, weak).tasks.getTask({ taskId });
      const [call = expect.unreachable()] = pendingToolCalls(
        task ?? expect.unreachable(),
      );
      const answer = (messageId: string, option: string) => ({
        taskId,
        message: { messageId, parts: [confirmationPart(call, option)] },
      });
      for (const server of [other, one]) {
        const sent = clientOf(server, weak).tasks.sendMessage(
          answer(`weak ${server.url}`, "proceed_once"),
        );
        await expect(sent).rejects.toMatchObject({
          code: Code.PermissionDenied,
        });
      }
      expect(ran).toEqual([]);
      // Two answers under one id, at two servers at the same moment: one
      // counts, and the call runs once or not at all.
      const answers = await Promise.allSettled([
        clientOf(one, strong).tasks.sendMessage(answer("twice", "cancel")),
        clientOf(other, strong).tasks.sendMessage(
          answer("twice", "proceed_once"),
        ),
      ]);
      const isTaken = answers.map(({ status }) => status === "fulfilled");
      expect(isTaken.filter((taken) => taken)).toHaveLength(1);
      expect(ran).toEqual(isTaken[1] ? [taskId] : []);
      const { task: after } = await clientOf(one, strong).tasks.getTask({
        taskId,
      });
      expect(pendingToolCalls(after ?? expect.unreachable())).toEqual([]);
    });
  },
);

type Jwt = NonNullable<NonNullable<ServerOptions["authentication"]>["jwt"]>;

function startOf(
  url: string,
  jwt: Jwt,
  execute: Execute,
): Promise<DevtoolServer> {
  return createServer({
    agents: {
      own: {
        about: { name: "own", description: "Ours." },
        open: () => ({ createExecutor: () => ({ execute }) }),
      },
    },
    workspace: process.cwd(),
    openStore: () => PostgresStore.open({ url, leaseMs: LEASE_MS }),
    authentication: { jwt },
  });
}

function clientOf({ url }: DevtoolServer, token: string): DevtoolClient {
  const interceptors = [bearerInterceptor(token)];
  return createDevtoolClient(
    createConnectTransport({ baseUrl: url, httpVersion: "2", interceptors }),
  );
}
