import { mkdtemp } from "node:fs/promises";
import { join } from "node:path";
import { textMessage } from "@devtool/client";
import { temporaryDirectory } from "@devtool/internal/testing/temporary-directory";
import { TaskState } from "@devtool/schema";
import { expect, it } from "vitest";
import { clientOf } from "../client-of.ts";
import {
  documentedConfig,
  openEntrance,
  PROXIES,
  type ReverseProxy,
} from "../outer/proxies.ts";
import { type Replica, startReplica } from "./replicas.ts";
import { describeWithPostgres } from "./with-postgres.ts";

const TOKEN = "one-token-for-all-servers-of-32-characters";
const BALANCERS = PROXIES.filter(({ name }) => name !== "nginx");

describeWithPostgres("replicas behind the proxies of the docs", (database) => {
  for (const proxy of BALANCERS) {
    it.skipIf(proxy.missing !== "")(
      `work as one server, and without one of them: ${proxy.name}${proxy.missing}`,
      async () => {
        await using stack = new AsyncDisposableStack();
        const home = await mkdtemp(join(temporaryDirectory(), "proxy-"));
        const socket = join(home, "socket");
        const entrance = stack.use(await openEntrance(socket));
        const publicUrl = `http://localhost:${entrance.port}`;
        /** Which server had each message. */
        const had: string[] = [];
        const start = (name: string): Promise<Replica> =>
          startReplica(
            database.url,
            `balanced_${proxy.name}`,
            async function* (turn) {
              had.push(name);
              yield* turn.say(`turn ${had.length}`);
            },
            { publicUrl, token: TOKEN },
          );
        const replicas = [await start("one"), await start("two")];
        for (const replica of replicas) stack.use(replica);
        const hosts = replicas.map(({ server }) => new URL(server.url).host);
        const config = (await configOf(proxy, socket, hosts)).replace(
          "agent.example",
          new URL(publicUrl).host,
        );
        stack.use(await proxy.start(home, config, socket));

        const client = clientOf({ url: publicUrl, token: TOKEN });
        const say = async (contextId: string) => {
          const message = textMessage(crypto.randomUUID(), "hello");
          const request = { message, contextId };
          const { task } = await client.tasks.sendMessage(request);
          return task;
        };
        const first = await say("");
        const contextId = first?.contextId ?? "";
        expect(await say(contextId)).toMatchObject({
          contextId,
          state: TaskState.COMPLETED,
        });
        // The caller stays with the server that its token chose.
        const [chosen = ""] = had;
        expect(had).toEqual([chosen, chosen]);
        await replicas[chosen === "one" ? 0 : 1]?.server.close();
        await expect
          .poll(
            async () => (await say(contextId).catch(() => undefined))?.state,
            {
              timeout: 60_000,
            },
          )
          .toBe(TaskState.COMPLETED);
        expect(had.at(-1)).toBe(chosen === "one" ? "two" : "one");
        const { tasks } = await client.tasks.listTasks({ contextId });
        expect(tasks.map(({ id }) => id)).toContain(first?.id);
      },
      120_000,
    );
  }
});

/** The configuration of the page for two servers, at a socket without TLS. */
async function configOf(
  proxy: ReverseProxy,
  socket: string,
  [one = "", two = ""]: readonly string[],
): Promise<string> {
  const [whole, lines] = [
    await documentedConfig(proxy, "server"),
    await documentedConfig(proxy, "replicas"),
  ];
  const place =
    proxy.name === "caddy"
      ? / {2}reverse_proxy .*\n/
      : /^backend devtool\n[\s\S]*/m;
  if (!place.test(whole)) throw new Error(`${place} is not in ${whole}`);
  return whole
    .replace(place, () => lines)
    .replace(/ {2}tls .*\n/, "")
    .replace("agent.example {", `http:// {\n  bind ${proxy.address(socket)}`)
    .replace(/bind :443 .*\n/, `bind ${proxy.address(socket)}\n`)
    .replaceAll("10.0.0.1:41242", one)
    .replaceAll("10.0.0.2:41242", two);
}
