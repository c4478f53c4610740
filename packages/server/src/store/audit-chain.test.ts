import { create, toBinary } from "@bufbuild/protobuf";
import { type AuditRecord, AuditRecordSchema } from "@devtool/schema";
import { describe, expect, it } from "vitest";
import { chainRecord, decodeRecord, verifyAudit } from "./audit-chain.ts";

describe("the audit chain (S13)", () => {
  it("is valid as it was written", async () => {
    expect(await verify(chain(20))).toMatchObject({
      count: 20n,
      fault: undefined,
    });
    expect(await verify([])).toEqual({ count: 0n, head: "", fault: undefined });
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
