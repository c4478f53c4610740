import {
  confirmationPart,
  pendingToolCalls,
  textMessage,
} from "@devtool/client";
import { loadConsole } from "@devtool/console";
import { OPTION_PROCEED_ONCE, TaskState } from "@devtool/schema";
import { afterEach, beforeEach, expect, it } from "vitest";
import { accessCode, accessOf } from "../console/console-page.ts";
import { startPushService } from "../console/push-service.ts";
import { LEFT_TO_CI } from "../depth.ts";
import { NGINX, WITHOUT_NGINX } from "../outer/nginx.ts";
import { type Receiver, receive } from "../push/receiver.ts";
import {
  asking,
  begin,
  followed,
  Gates,
  LIMIT_MS,
  speaking,
} from "./agents.ts";
import { type Execute, type Replica, startReplica } from "./replicas.ts";
import { ServerFleet } from "./server-fleet.ts";
import { describeWithPostgres } from "./with-postgres.ts";

describeWithPostgres(
  "push notifications of servers that share a database (PUSH-1)",
  (database) => {
    let receiver: Receiver;
    let schemas = 0;
    beforeEach(async () => {
      receiver = await receive();
      schemas++;
    });
    afterEach(() => receiver[Symbol.asyncDispose]());

    const start = (execute: Execute) =>
      startReplica(database.url, `push_${schemas}`, execute, {
        pushTargets: [receiver.target],
      });

    it("post each event in order and by one server, whichever servers take the config, the answer and the task", async () => {
      const runs: string[] = [];
      await using one = await start(asking(runs));
      await using other = await start(asking(runs));
      const { task } = await one.client.tasks.sendMessage({
        message: textMessage("m1", "go"),
      });
      const [call] = task ? pendingToolCalls(task) : [];
      if (!task || !call) throw new Error("nothing is asked");
      await other.client.push.setPushConfig({
        config: { taskId: task.id, id: "c", url: receiver.url },
      });
      const parts = [confirmationPart(call, OPTION_PROCEED_ONCE)];
      await other.client.tasks.sendMessage({
        message: { ...textMessage("m2", ""), parts },
        taskId: task.id,
      });
      const log = await followed(
        one,
        task.id,
        ({ state }) => state === TaskState.COMPLETED,
      );
      const after = log
        .slice(Number(task.sequence))
        .map(({ sequence }) => Number(sequence));
      // A post whose answer is late, or whose server loses the task, comes
      // again: each event at least once, and none before an earlier one.
      await expect.poll(() => sequencesIn(receiver)).toContain(after.at(-1));
      const posted = sequencesIn(receiver);
      expect([...new Set(posted)]).toEqual(after);
      expect(posted).toEqual(posted.toSorted((one, other) => one - other));
      expect(posted.length - after.length).toBeLessThanOrEqual(1);
      const { configs } = await other.client.push.listPushConfigs({
        taskId: task.id,
      });
      expect(configs.map(({ id }) => id)).toEqual(["c"]);
      expect([...one.errors, ...other.errors]).toEqual([]);
    });

    it("tell a browser of one of them of a wait at another", async () => {
      await using service = await startPushService();
      const settings = {
        site: await loadConsole(),
        pushTargets: [service.target],
      };
      const start = () =>
        startReplica(database.url, `push_${schemas}`, asking([]), settings);
      await using one = await start();
      await using other = await start();
      const { token } = await accessOf(one.server, "").redeemAccessCode({
        code: await accessCode(one.server),
      });
      await accessOf(one.server, token).setWebPush(service.subscribe("phone"));
      const { task } = await other.client.tasks.sendMessage({
        message: textMessage("m1", "go"),
      });
      await expect
        .poll(() => service.posts.map((post) => service.read(post)))
        .toEqual([{ taskId: task?.id, title: "go" }]);
      expect([...one.errors, ...other.errors]).toEqual([]);
    });

    it("post nothing for a config any more that was deleted at another server", async () => {
      const words = new Gates(4);
      await using one = await start(speaking(words));
      await using other = await start(speaking(new Gates(0)));
      const taskId = await begin(one, "go");
      await other.client.push.setPushConfig({
        config: { taskId, id: "c", url: receiver.url },
      });
      words.open();
      await receiver.reached(1);
      await other.client.push.deletePushConfig({ taskId, configId: "c" });
      const { length } = receiver.received;
      for (let word = 0; word < 3; word++) words.open();
      await followed(one, taskId, ({ state }) => state === TaskState.COMPLETED);
      expect(receiver.received).toHaveLength(length);
    });

    it("go on at the server that takes the task over, and no other server records them", async () => {
      const words = new Gates(2);
      await using one = await start(speaking(words));
      await using other = await start(speaking(new Gates(1)));
      const taskId = await begin(one, "go");
      await one.client.push.setPushConfig({
        config: { taskId, id: "c", url: receiver.url },
      });
      const held = Promise.withResolvers<void>();
      receiver.answerWith(
        (response) =>
          void held.promise.then(() => response.writeHead(204).end()),
      );
      words.open();
      await receiver.reached(1);
      const [first = 0] = sequencesIn(receiver);
      await database.run(`UPDATE push_${schemas}.replica SET alive_until = clock_timestamp()
      WHERE id = '${one.store.shared.leases.owner}'`);
      // The other server posts the event again: its arrival was not recorded.
      await receiver.reached(2);
      receiver.answerWith((response) => void response.writeHead(204).end());
      held.resolve();
      await other.client.tasks.cancelTask({ taskId });
      const log = await followed(
        other,
        taskId,
        ({ state }) => state === TaskState.CANCELED,
      );
      await expect
        .poll(() => sequencesIn(receiver).at(-1), { timeout: LIMIT_MS })
        .toBe(log.length);
      const posted = sequencesIn(receiver);
      expect(posted.slice(0, 2)).toEqual([first, first]);
      expect([...new Set(posted)]).toEqual(
        Array.from({ length: log.length - first + 1 }, (_, at) => first + at),
      );
    });

    it("are signed with keys that any of the servers publishes, as are the cards", async () => {
      await using one = await start(speaking(new Gates(0)));
      await using other = await start(speaking(new Gates(0)));
      const [mine, theirs] = await Promise.all([keysOf(one), keysOf(other)]);
      expect(mine).toEqual(theirs);
      expect(mine).toMatchObject({ keys: [{ alg: "ES256" }] });
    });

    it.skipIf(NGINX === undefined)(
      `lose no event and keep their order when servers are killed${WITHOUT_NGINX}`,
      { timeout: 300_000 },
      async () => {
        const flags = ["--push-target", receiver.target];
        await using fleet = await ServerFleet.start({
          database,
          schema: `push_${schemas}`,
          replicas: 3,
          flags,
        });
        const tasks = new Set<string>();
        const client = fleet.client();
        for (let task = 0; task < 12; task++) {
          const message = textMessage(
            crypto.randomUUID(),
            "say 3\nwait 3000\nsay 3\ntext end",
          );
          const sent = await client.tasks.sendMessage({
            ...{ message, returnImmediately: true },
            pushConfig: { id: "c", url: receiver.url },
          });
          tasks.add(sent.task?.id ?? "");
        }
        await fleet.server(0).kill();
        await receiver.reached(60);
        await fleet.server(1).kill();
        const rested = { timeout: LIMIT_MS, interval: 200 };
        for (const taskId of tasks) {
          const last = async () =>
            (await fleet.client(2).tasks.getTask({ taskId })).task;
          await expect
            .poll(async () => (await last())?.state, rested)
            .toBeGreaterThan(TaskState.WORKING);
          const length = Number((await last())?.sequence);
          await expect
            .poll(() => sequencesIn(receiver, taskId), rested)
            .toContain(length);
          const firsts = [...new Set(sequencesIn(receiver, taskId))];
          expect(firsts).toEqual(
            Array.from(firsts, (_, at) => length - firsts.length + 1 + at),
          );
        }
      },
    );
  },
  LEFT_TO_CI,
);

/** The sequences that were posted, of all tasks or of one. */
function sequencesIn({ received }: Receiver, taskId?: string): number[] {
  const events: { taskId: string; sequence: string }[] = received.map(
    ({ body }) => JSON.parse(body),
  );
  return events
    .filter((event) => taskId === undefined || event.taskId === taskId)
    .map(({ sequence }) => Number(sequence));
}

async function keysOf({ server }: Replica): Promise<unknown> {
  return (await fetch(`${server.url}/.well-known/jwks.json`)).json();
}
