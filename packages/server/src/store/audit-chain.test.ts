import { create, toBinary } from "@bufbuild/protobuf";
import { timestampFromMs } from "@bufbuild/protobuf/wkt";
import {
  AuditAction,
  type AuditRecord,
  AuditRecordSchema,
} from "@devtool/schema";
import { describe, expect, it } from "vitest";
import { chainRecord, decodeRecord } from "./audit-chain.ts";
import { verifyAudit } from "./verify-audit.ts";

describe("the audit chain (S13)", () => {
  it("is valid as it was written", async () => {
    expect(await verify(chain(20))).toMatchObject({
      count: 20n,
      fault: undefined,
    });
    expect(await verify([])).toEqual({
      count: 0n,
      head: "",
      fault: undefined,
      deleted: [],
    });
  });

  it("detects every flipped bit of a record", async () => {
    const records = chain(3);
    const [first, , last] = records;
    const [, middle] = records.map((record) =>
      toBinary(AuditRecordSchema, record),
    );
    let flips = 0;
    for (let at = 0; at < (middle?.length ?? 0) * 8; at++) {
      const changed = decodeRecord(flipped(middle, at));
      // The store refuses to read bytes that are not a record any more.
      if (!changed || !first || !last) continue;
      flips++;
      expect((await verify([first, changed, last])).fault).toBeDefined();
    }
    expect(flips).toBeGreaterThan(500);
  });

  it("detects and names a record that was removed, duplicated or moved", async () => {
    const [one, two, three] = chain(3);
    if (!one || !two || !three) throw new Error("the chain is too short");
    expect((await verify([one, three])).fault).toBe(
      "record 2 is missing: the next one is 3",
    );
    expect((await verify([one, two, two])).fault).toContain("record 3");
    expect((await verify([two, one, three])).fault).toContain("record 1");
  });

  it("detects a removed end by the noted hash of its last record", async () => {
    const before = await verify(chain(3));
    expect((await verify(chain(2))).head).not.toBe(before.head);
  });

  it("holds without what was shown, if a later record says that the task was deleted", async () => {
    const [first, ...others] = chain(3);
    if (!first) throw new Error("the chain is too short");
    const gone = { ...first, shown: "" };
    const { record: tombstone } = chainRecord(
      create(AuditRecordSchema, {
        taskId: "t0",
        action: AuditAction.TASK_DELETED,
        principal: "ada",
        time: timestampFromMs(1000),
      }),
      others.at(-1),
    );
    expect(await verify([gone, ...others, tombstone])).toMatchObject({
      count: 4n,
      fault: undefined,
      deleted: [
        {
          ...{ taskId: "t0", by: "ada", time: new Date(1000), texts: 1 },
          isVerified: false,
        },
      ],
    });
    const missing =
      "what record 1 shows is missing, and no record says that its task was deleted: it was tampered with";
    const verdict = { count: 0n, head: "", fault: missing };
    expect(await verify([gone, ...others])).toMatchObject(verdict);
    // The deletion of another task, or one before, explains nothing.
    const other = chainRecord({ ...tombstone, taskId: "t1" }, others.at(-1));
    expect(await verify([gone, ...others, other.record])).toMatchObject(
      verdict,
    );
    const late = chainRecord({ ...first, number: 0n }, tombstone).record;
    expect(
      await verify([gone, ...others, tombstone, { ...late, shown: "" }]),
    ).toMatchObject({ count: 4n, fault: missing.replace("1", "5") });
  });

  it("detects what was shown that is another text than it was", async () => {
    const [first, ...others] = chain(3);
    if (!first) throw new Error("the chain is too short");
    for (const shown of ['{"path":"b"}', '{"path":"a"} ']) {
      expect((await verify([{ ...first, shown }, ...others])).fault).toBe(
        "what record 1 shows was changed",
      );
    }
  });
});

function chain(length: number): AuditRecord[] {
  const records: AuditRecord[] = [];
  for (let index = 0; index < length; index++) {
    const record = create(AuditRecordSchema, {
      taskId: `t${index}`,
      toolName: "write_file",
      shown: '{"path":"a"}',
    });
    records.push(chainRecord(record, records.at(-1)).record);
  }
  return records;
}

async function verify(records: readonly AuditRecord[]) {
  return verifyAudit(
    (async function* () {
      yield* records;
    })(),
  );
}

function flipped(bytes: Uint8Array | undefined, bit: number): Uint8Array {
  const changed = Uint8Array.from(bytes ?? []);
  changed[bit >> 3] = (changed[bit >> 3] ?? 0) ^ (1 << (bit & 7));
  return changed;
}
