import { mkdir, readdir, writeFile } from "node:fs/promises";
import { join } from "node:path";
import {
  confirmationPart,
  pendingToolCalls,
  textMessage,
} from "@devtool/client";
import { temporaryDirectory } from "@devtool/internal/testing/temporary-directory";
import { TaskState } from "@devtool/schema";
import { afterEach, beforeEach, expect, it } from "vitest";
import { clientOf } from "../client-of.ts";
import {
  type ServerProcess,
  startServing,
} from "../durability/crash/server-process.ts";
import { processesOf } from "../processes.ts";
import { SteadyAddress } from "../steady-address.ts";
import { taskOf } from "../tasks.ts";
import { describeWithPostgres } from "./with-postgres.ts";

const LIMIT_MS = 120_000;
const SECONDS = 600 + Math.random();
const sleepers = () => processesOf(`sleep\0${SECONDS}`);

describeWithPostgres(
  "what an agent could not be told to cancel",
  (database) => {
    let base: string;
    let address: SteadyAddress;
    const servers: ServerProcess[] = [];
    beforeEach(async () => {
      base = temporaryDirectory();
      await mkdir(join(base, "work"));
      address = await SteadyAddress.open();
    });
    afterEach(async () => {
      for (const server of servers.splice(0)) await server.kill();
      await address[Symbol.asyncDispose]();
    });

    it("is told by another server of the database when the one that kept it is killed", async () => {
      const far = await start("far", "", ["--public-url", address.url]);
      address.lead(far.info.url);
      await writeFile(join(base, "far-token"), far.info.token, { mode: 0o600 });
      const config = `[store]\nurl = "${database.url}"\nschema = "untold"\nlease = "10s"\n[[remote_agents]]\nname = "far"\nurl = "${address.url}"\ntoken_file = "${join(base, "far-token")}"\n`;
      const one = await start("one", config);
      const other = await start("other", config);
      const { tasks } = clientOf(one.info);
      const message = `run sh -c 'sleep ${SECONDS} & sleep ${SECONDS}'`;
      const { task } = await tasks.sendMessage({
        message: textMessage(
          crypto.randomUUID(),
          `call agent_far ${JSON.stringify({ message })}`,
        ),
      });
      const taskId = task?.id ?? "";
      while (sleepers().length < 2) {
        const parts = pendingToolCalls(
          await taskOf(clientOf(one.info), taskId),
        ).map((call) => confirmationPart(call, "proceed_once"));
        if (parts.length > 0) {
          await tasks.sendMessage({
            message: { messageId: crypto.randomUUID(), parts },
            taskId,
            returnImmediately: true,
          });
        }
        await new Promise((resolve) => setTimeout(resolve, 50));
      }
      address.lead(undefined);
      await tasks.cancelTask({ taskId });
      await one.kill();
      expect(sleepers().length).toBeGreaterThanOrEqual(2);
      address.lead(far.info.url);
      const states = async () =>
        (await clientOf(far.info).tasks.listTasks({})).tasks.map(
          ({ lastEvent }) => lastEvent?.state,
        );
      const patience = { timeout: LIMIT_MS };
      await expect.poll(states, patience).toEqual([TaskState.CANCELED]);
      await expect.poll(sleepers, patience).toEqual([]);
      await expect
        .poll(
          () => database.run("SELECT id FROM untold.untold_cancel"),
          patience,
        )
        .toEqual([]);
      await expect
        .poll(() => other.said.stderr, patience)
        .toContain('gave agent \\"far\\" is told now');
      for (const name of ["one", "other"]) {
        const files = await readdir(join(base, name));
        expect(files.filter((file) => file.startsWith("untold"))).toEqual([]);
      }
    });

    /** Starts a server with a data directory of its own. */
    async function start(
      name: string,
      config: string,
      more: readonly string[] = [],
    ): Promise<ServerProcess> {
      const data = join(base, name);
      await mkdir(data, { mode: 0o700 });
      await writeFile(join(data, "config.toml"), config, { mode: 0o600 });
      const server = await startServing([
        ...["--data", data, "--workspace", join(base, "work")],
        ...["--no-console", ...more],
      ]);
      servers.push(server);
      return server;
    }
  },
);
