import { create } from "@bufbuild/protobuf";
import { timestampFromMs } from "@bufbuild/protobuf/wkt";
import {
  AuditAction,
  type AuditRecord,
  AuditRecordSchema,
} from "@devtool/schema";
import { CompactSign } from "jose";
import { describe, expect, it } from "vitest";
import { SigningKeys } from "../keys/signing-keys.ts";
import { chainRecord } from "./audit-chain.ts";
import { signTombstone } from "./tombstone.ts";
import { verifyAudit } from "./verify-audit.ts";

const DAY_MS = 24 * 3_600_000;

describe("a signed deletion", () => {
  it("verifies wherever the chain has it, with keys of before and after a rotation", async () => {
    let now = 0;
    const server = new SigningKeys({ now: () => now });
    const kept = await server.publicKeys();
    const old = await signed(server, deletion("t1"));
    now = 40 * DAY_MS;
    await server.publicKeys();
    now += 2 * DAY_MS;
    const young = await signed(server, deletion("t2"));
    const later = await server.publicKeys();
    expect(young.signature).not.toContain(old.signature.split(".")[0]);
    const log = chain(shown("t2"), shown("t1"), old, young);
    const keys = { keys: [...kept.keys, ...later.keys] };
    expect(await verify(log, { keys })).toMatchObject({
      count: 4n,
      fault: undefined,
      deleted: [
        { taskId: "t1", isVerified: true },
        { taskId: "t2", isVerified: true },
      ],
    });
    // Without the key that signed then, nothing shows who did.
    expect(await verify(log, { keys: later })).toMatchObject({
      count: 2n,
      fault:
        'record 3, which says that task "t1" was deleted, is signed with a key that is not one of the given ones',
    });
    // What an earlier check accepted needs no key any more.
    const head = Buffer.from(log[2]?.hash ?? []).toString("base64");
    expect(await verify(log, { head, keys: later })).toMatchObject({
      count: 4n,
      fault: undefined,
      deleted: [{ isVerified: false }, { isVerified: true }],
    });
  });

  it.each<[string, Forge, string]>([
    ["has no signature", async () => deletion("t1"), "has no signature"],
    [
      "is signed with a key of somebody else",
      async () => signed(new SigningKeys({ now: Date.now }), deletion("t1")),
      "is signed with a key that is not one of the given ones",
    ],
    [
      "names another task than was signed",
      async (server) => ({
        ...(await signed(server, deletion("t2"))),
        taskId: "t1",
      }),
      "has a signature that is not valid",
    ],
    [
      "has another time than was signed",
      async (server) => ({
        ...(await signed(server, deletion("t1"))),
        time: timestampFromMs(1),
      }),
      "has a signature that is not valid",
    ],
    [
      "has something else that the server signed",
      async (server) => {
        const { keyId, algorithm, privateKey } = await server.current();
        const jws = await new CompactSign(new Uint8Array())
          .setProtectedHeader({ alg: algorithm, kid: keyId })
          .sign(privateKey);
        return { ...deletion("t1"), signature: jws };
      },
      "has a signature that is not valid",
    ],
    [
      "has a signature that is no JWS",
      async () => ({ ...deletion("t1"), signature: "\u0000" }),
      "has a signature that is not valid",
    ],
  ])(
    "is found, made by who can write the log alone, when it %s",
    async (_name, forge, problem) => {
      const server = new SigningKeys({ now: Date.now });
      const log = chain(shown("t1"), await forge(server));
      // The chain is whole, so that nothing else finds it.
      expect((await verify(log)).fault).toBeUndefined();
      expect(
        await verify(log, { keys: await server.publicKeys() }),
      ).toMatchObject({
        count: 1n,
        fault: `record 2, which says that task "t1" was deleted, ${problem}`,
      });
    },
  );

  it("does not explain texts of events after it, put there again", async () => {
    const server = new SigningKeys({ now: Date.now });
    const tombstone = await signed(server, deletion("t1", 3n));
    const log = chain(shown("t1", 2n), shown("t1", 4n), tombstone);
    const keys = await server.publicKeys();
    expect((await verify(log, { keys })).fault).toContain(
      "what record 1 shows is missing",
    );
  });
});

type Forge = (server: SigningKeys) => Promise<AuditRecord>;

/** A record whose text is gone. */
function shown(taskId: string, sequence = 1n): AuditRecord {
  return create(AuditRecordSchema, { taskId, sequence, shown: "a secret" });
}

function deletion(taskId: string, sequence = 9n): AuditRecord {
  return create(AuditRecordSchema, {
    ...{ taskId, sequence, principal: "ada" },
    action: AuditAction.TASK_DELETED,
    time: timestampFromMs(1000),
  });
}

async function signed(
  server: SigningKeys,
  record: AuditRecord,
): Promise<AuditRecord> {
  return signTombstone(record, await server.current());
}

/** Chains records, and then removes what they showed. */
function chain(...records: readonly AuditRecord[]): AuditRecord[] {
  const chained: AuditRecord[] = [];
  for (const record of records) {
    const next = chainRecord(record, chained.at(-1)).record;
    chained.push({ ...next, shown: "" });
  }
  return chained;
}

async function verify(
  records: readonly AuditRecord[],
  options?: Parameters<typeof verifyAudit>[1],
) {
  async function* log(): AsyncIterable<AuditRecord> {
    yield* records;
  }
  return verifyAudit(log(), options);
}
