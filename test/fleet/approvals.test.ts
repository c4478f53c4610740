import { copyFile, mkdir, mkdtemp, writeFile } from "node:fs/promises";
import { join } from "node:path";
import { runCommand } from "@devtool/cli/testing";
import { pendingToolCalls, textMessage } from "@devtool/client";
import {
  type CodingServerOptions,
  serveCodingAgent,
} from "@devtool/coding-agent";
import { temporaryDirectory } from "@devtool/internal/testing/temporary-directory";
import { PostgresStore } from "@devtool/postgres";
import { ApprovalMode, type Task, TaskState } from "@devtool/schema";
import type { DevtoolServer } from "@devtool/server";
import { afterEach, beforeAll, beforeEach, expect, it } from "vitest";
import { Conversation } from "../audit/conversation.ts";
import { createIssuer, type Issuer } from "../auth/issuer.ts";
import { LIMIT_MS } from "./agents.ts";
import { LEASE_MS } from "./replicas.ts";
import { describeWithPostgres } from "./with-postgres.ts";

const SAVE = "proceed_always_and_save";

describeWithPostgres(
  "an approval for good at one of several servers",
  (database) => {
    let issuer: Issuer;
    let root: string;
    let servers: DevtoolServer[];
    beforeAll(async () => {
      issuer = await createIssuer();
    });
    beforeEach(async () => {
      root = temporaryDirectory();
      await mkdir(join(root, "workspace"));
      servers = [];
    });
    afterEach(async () => {
      for (const server of servers) await server.close();
      await database.run("DROP SCHEMA devtool CASCADE");
    });

    /**
     * Starts a server with a data directory of its own, and returns who works
     * with it.
     */
    async function serve(
      options: CodingServerOptions = {},
    ): Promise<{ operator: Conversation; server: DevtoolServer }> {
      const server = await serveCodingAgent({
        workspace: join(root, "workspace"),
        dataDirectory: await mkdtemp(join(root, "data-")),
        openStore: () =>
          PostgresStore.open({ url: database.url, leaseMs: LEASE_MS }),
        authentication: { jwt: issuer.options },
        ...options,
      });
      servers.push(server);
      return { operator: talk(server), server };
    }

    const talk = (
      { url }: DevtoolServer,
      token = servers.at(-1)?.token ?? "",
    ) => new Conversation({ url, token }, AbortSignal.timeout(LIMIT_MS));
    const asks = (task: Task): boolean => pendingToolCalls(task).length > 0;
    const approvals = (...args: string[]) =>
      runCommand([
        "approvals",
        ...args,
        "--store",
        database.url,
        "--data",
        root,
      ]);

    it("counts at the others at once, and is withdrawn at all of them", async () => {
      const one = await serve();
      const other = await serve();
      expect(asks(await other.operator.start("write a.txt 1"))).toBe(true);
      await one.operator.answer(
        await one.operator.start("write a.txt 2"),
        SAVE,
      );
      for (const { operator } of [other, one]) {
        expect(asks(await operator.start("write a.txt 3"))).toBe(false);
      }
      expect(asks(await other.operator.start("write b.txt 1"))).toBe(true);

      const { out } = await approvals("list");
      expect(out).toMatch(
        /^[0-9a-f]{12} {2}write_file on a\.txt in \S+workspace\n$/,
      );
      const [id = ""] = out.split(" ");
      expect(await approvals("remove", id)).toMatchObject({
        code: 0,
        out: expect.stringContaining("asks again: write_file"),
      });
      expect(await approvals("remove", id)).toMatchObject({
        code: 1,
        err: expect.stringContaining("does not exist"),
      });
      for (const { operator } of [other, one]) {
        expect(asks(await operator.start("write a.txt 4"))).toBe(true);
      }
    });

    it("outlives the server that it was given at", async () => {
      const one = await serve();
      await one.operator.answer(
        await one.operator.start("write a.txt 1"),
        SAVE,
      );
      await servers.pop()?.close();
      const { operator } = await serve();
      expect(asks(await operator.start("write a.txt 2"))).toBe(false);
    });

    it("counts for no other principal, who can save none", async () => {
      const one = await serve();
      const other = await serve();
      await one.operator.answer(
        await one.operator.start("write a.txt 1"),
        SAVE,
      );
      const bob = talk(other.server, await issuer.tokenFor("bob"));
      const task = await bob.start("write a.txt 2");
      const toolCallId = pendingToolCalls(task)[0]?.toolCallId ?? "";
      const content = {
        case: "confirmation" as const,
        value: { toolCallId, selectedOptionId: SAVE },
      };
      const message = { messageId: crypto.randomUUID(), parts: [{ content }] };
      const forged = bob.client.tasks.sendMessage({ message, taskId: task.id });
      await expect(forged).rejects.toThrow("is not offered");
    });

    it("answers no question that the rules of another server's operator ask", async () => {
      const file = join(root, "operator.toml");
      await writeFile(
        file,
        '[[rule]]\ntool = "write_file"\ndecision = "ask"\n',
        { mode: 0o600 },
      );
      const one = await serve();
      await one.operator.answer(
        await one.operator.start("write a.txt 1"),
        SAVE,
      );
      const strict = await serve({ policyFiles: [file] });
      expect(asks(await strict.operator.start("write a.txt 2"))).toBe(true);
    });

    it("F-H1: a task goes no further at a server whose operator allows more", async () => {
      const notices: string[] = [];
      const strict = await serve();
      const task = await strict.operator.start("write a.txt 1");
      expect(asks(task)).toBe(true);
      const wide = await serve({
        approvalMode: ApprovalMode.YOLO,
        onNotice: (text) => notices.push(text),
      });
      expect(notices.join("\n")).toContain(
        "another server of this store has another approval mode",
      );
      expect(asks(await wide.operator.start("write b.txt 1"))).toBe(false);
      const { contextId } = task;
      const message = textMessage(crypto.randomUUID(), "write c.txt 1");
      const sent = await wide.operator.client.tasks.sendMessage({
        message,
        contextId,
      });
      expect(sent.task && asks(sent.task)).toBe(true);

      // Its server is gone, and the other takes the task over.
      servers.splice(servers.indexOf(strict.server), 1);
      await strict.server.close();
      const answered = await wide.operator.answer(task, "proceed_once");
      expect(answered.state).toBe(TaskState.COMPLETED);
      expect(asks(await wide.operator.say(answered, "write d.txt 1"))).toBe(
        true,
      );
    });

    it("F-H1: servers that decide alike start without a warning", async () => {
      const file = join(root, "operator.toml");
      await writeFile(
        file,
        '[[rule]]\ntool = "write_file"\ndecision = "ask"\n',
        {
          mode: 0o600,
        },
      );
      const notices: string[] = [];
      const onNotice = (text: string): void => void notices.push(text);
      const another = () =>
        notices.splice(0).filter((text) => text.startsWith("another server"));
      await serve({ policyFiles: [file] });
      await copyFile(file, join(root, "copy.toml"));
      await serve({ policyFiles: [join(root, "copy.toml")], onNotice });
      expect(another()).toEqual([]);
      await serve({ policyFiles: [file], sandbox: "none", onNotice });
      expect(another()).toHaveLength(1);
      await serve({ onNotice });
      expect(another()).toHaveLength(1);
    });

    it("covers a command that was shown in a sandbox at no server without one", async () => {
      const one = await serve();
      const shown = await one.operator.start("run touch made");
      const confined = pendingToolCalls(shown).every(
        (call) =>
          !JSON.stringify(call.confirmationRequest?.options).includes(
            "without",
          ),
      );
      await one.operator.answer(shown, SAVE);
      const bare = await serve({ sandbox: "none" });
      // Where there is no sandbox at all, the command was shown without one,
      // and counts.
      expect(asks(await bare.operator.start("run touch made"))).toBe(confined);
    });
  },
);
