import { mkdir } from "node:fs/promises";
import { join } from "node:path";
import { serveCodingAgent } from "@devtool/coding-agent";
import { fileText } from "@devtool/internal/testing/files";
import { temporaryDirectory } from "@devtool/internal/testing/temporary-directory";
import { PostgresStore } from "@devtool/postgres";
import {
  findPostgres,
  startPostgres,
  withoutPostgres,
} from "@devtool/postgres/testing";
import { beforeEach, describe, expect, it } from "vitest";
import { clientOf } from "../client-of.ts";
import { LEFT_TO_CI } from "../depth.ts";
import {
  type ServerProcess,
  startServing,
} from "../durability/crash/server-process.ts";
import { LEASE_MS } from "../fleet/replicas.ts";
import { FrontEnd } from "./front-end.ts";
import { bareRun, postRun } from "./post-run.ts";

const LIMIT_MS = 120_000;
const bin = findPostgres();

describe("a thread of AG-UI and the servers that have it", {
  timeout: LIMIT_MS,
}, () => {
  let root: string;
  let workspace: string;
  beforeEach(async () => {
    root = temporaryDirectory();
    workspace = join(root, "work");
    await mkdir(workspace);
  });

  it("goes on with its open interrupt after its server was killed", async () => {
    const serve = (port: string): Promise<ServerProcess> =>
      startServing([
        "--data",
        join(root, "data"),
        "--workspace",
        workspace,
        "--no-console",
        "--port",
        port,
      ]);
    const first = await serve("0");
    try {
      const page = new FrontEnd(first.info);
      await page.say("text Before.\nwrite a.txt hello\ntext Written.");
      await first.kill();
      await expect(page.answer({ approved: true })).rejects.toThrow(
        "fetch failed",
      );
      const second = await serve(new URL(first.info.url).port);
      try {
        await page.answer({ approved: true });
        expect(page.texts).toEqual(["Before.", "Written."]);
        expect(fileText(workspace, "a.txt")).toBe("hello");
      } finally {
        await second.kill();
      }
    } finally {
      await first.kill();
    }
  });

  it.skipIf(bin === undefined || LEFT_TO_CI !== "")(
    `is answered at another server of a fleet${withoutPostgres(bin)}${LEFT_TO_CI}`,
    async () => {
      await using database = await startPostgres(bin ?? "");
      const serve = (name: string) =>
        serveCodingAgent({
          workspace,
          dataDirectory: join(root, name),
          sandbox: "none",
          openStore: () =>
            PostgresStore.open({ url: database.url, leaseMs: LEASE_MS }),
        });
      await using one = await serve("one");
      await using other = await serve("other");
      const page = new FrontEnd(one);
      await page.say("write a.txt hello\ntext Written.");
      const elsewhere = new FrontEnd(other, { threadId: page.threadId });
      await elsewhere.run();
      expect(elsewhere.interrupt).toEqual(page.interrupt);
      await elsewhere.answer({ approved: true });
      expect(elsewhere.texts).toEqual(["Written."]);
      expect(fileText(workspace, "a.txt")).toBe("hello");
      const reloaded = new FrontEnd(one, { threadId: page.threadId });
      await reloaded.run();
      expect(reloaded.texts).toEqual(["Written."]);
      expect(reloaded.interrupts).toEqual([]);
    },
  );

  it.skipIf(bin === undefined || LEFT_TO_CI !== "")(
    `has one task, although eight messages begin it at two servers at the same moment${withoutPostgres(bin)}${LEFT_TO_CI}`,
    async () => {
      await using database = await startPostgres(bin ?? "");
      const serve = (name: string) =>
        serveCodingAgent({
          workspace,
          dataDirectory: join(root, name),
          sandbox: "none",
          openStore: () =>
            PostgresStore.open({ url: database.url, leaseMs: LEASE_MS }),
        });
      await using one = await serve("one");
      await using other = await serve("other");
      const texts = Array.from({ length: 8 }, (_, index) => `Text ${index}.`);
      const client = clientOf(one);
      for (let round = 0; round < 5; round++) {
        const threadId = crypto.randomUUID();
        const begin = (text: string, index: number) => {
          const messages = [
            { id: crypto.randomUUID(), role: "user", content: `text ${text}` },
          ];
          return postRun(index % 2 === 0 ? one : other, {
            ...bareRun(threadId),
            messages,
          });
        };
        const runs = await Promise.all(texts.map(begin));
        expect(
          runs.flatMap(({ events }) =>
            events.filter(({ type }) => type === "RUN_ERROR"),
          ),
        ).toEqual([]);
        const { tasks } = await client.tasks.listTasks({ contextId: threadId });
        expect(tasks).toHaveLength(1);
        const page = new FrontEnd(other, { threadId });
        await page.run();
        expect(page.texts.toSorted()).toEqual(texts);
      }
    },
  );
});
