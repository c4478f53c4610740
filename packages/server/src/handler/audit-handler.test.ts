import { setImmediate as nextTurn } from "node:timers/promises";
import { create } from "@bufbuild/protobuf";
import { createClient, createRouterTransport } from "@connectrpc/connect";
import {
  type AuditRecord,
  AuditRecordSchema,
  AuditService,
} from "@devtool/schema";
import { describe, expect, it } from "vitest";
import { MemoryTaskStore } from "../store/memory-task-store.ts";
import { createAuditHandler } from "./audit-handler.ts";

const RECORDS = 5000;

describe("the audit log, read for one task", () => {
  it("lets the server do other work while it leaves the records of others out", async () => {
    const { client } = await serveRecords();
    const turns = countTurns();
    const found = await Array.fromAsync(client.readAudit({ taskId: "mine" }));
    expect(found.map(({ record }) => record?.number)).toEqual([
      BigInt(RECORDS),
    ]);
    expect(turns.stop()).toBeGreaterThan(10);
  });

  it("is not read on for a client that has gone, even if it has no record for it", async () => {
    const { client, store } = await serveRecords();
    const leave = new AbortController();
    const reading = Array.fromAsync(
      client.readAudit({ taskId: "unknown" }, { signal: leave.signal }),
    );
    await store.begun.promise;
    leave.abort();
    await expect(reading).rejects.toThrow();
    await store.ended.promise;
    expect(store.read).toBeLessThan(RECORDS);
  });
});

/** Counts the turns of the event loop, as another request would get them. */
function countTurns(): { stop(): number } {
  let turns = 0;
  let isRunning = true;
  void (async () => {
    for (; isRunning; turns++) await nextTurn();
  })();
  return {
    stop: () => {
      isRunning = false;
      return turns;
    },
  };
}

async function serveRecords() {
  const store = new CountingStore();
  const others = Array.from({ length: RECORDS - 1 }, () =>
    create(AuditRecordSchema, { taskId: "other" }),
  );
  await store.append({
    events: [],
    audit: [...others, create(AuditRecordSchema, { taskId: "mine" })],
  });
  const transport = createRouterTransport(({ service }) =>
    service(AuditService, createAuditHandler(store)),
  );
  return { client: createClient(AuditService, transport), store };
}

/** A store that counts the records that are read from it. */
class CountingStore extends MemoryTaskStore {
  read = 0;
  readonly begun = Promise.withResolvers<undefined>();
  readonly ended = Promise.withResolvers<undefined>();

  override async *readAudit(after: bigint): AsyncIterable<AuditRecord> {
    try {
      for await (const record of super.readAudit(after)) {
        this.read++;
        this.begun.resolve(undefined);
        yield record;
      }
    } finally {
      this.ended.resolve(undefined);
    }
  }
}
