import { create } from "@bufbuild/protobuf";
import {
  type PolicyFile,
  PolicyFileSchema,
  RuleDecision,
} from "@devtool/schema";
import { Code } from "@devtool/server";
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { PostgresStore } from "./postgres-store.ts";
import {
  findPostgres,
  type PostgresServer,
  startPostgres,
  withoutPostgres,
} from "./testing/index.ts";

const bin = findPostgres();
const why = withoutPostgres(bin);

describe.skipIf(bin === undefined)(`PostgresApprovals${why}`, () => {
  let server: PostgresServer;
  beforeAll(async () => {
    server = await startPostgres(bin ?? "");
  });
  afterAll(() => server[Symbol.asyncDispose]());

  const open = () => PostgresStore.open({ url: server.url });

  it("stores what was read and changed, unless another server has changed it since", async () => {
    await using one = await open();
    await using other = await open();
    const [mine, theirs] = [one.shared.approvals, other.shared.approvals];
    const empty = await theirs.read();
    expect(empty).toMatchObject({ file: { rule: [] }, version: "0" });
    expect(await mine.replace(fileOf("make a"), empty.version)).toBe(true);
    expect(await theirs.replace(fileOf("make b"), empty.version)).toBe(false);
    const { file, version } = await theirs.read();
    expect(file).toEqual(fileOf("make a"));
    const replaced = await Promise.all(
      [mine, theirs].map((approvals) =>
        approvals.replace(fileOf("make c"), version),
      ),
    );
    expect(replaced.toSorted()).toEqual([false, true]);
    // As it was, and still another version: whoever read before must read
    // again.
    const last = await mine.read();
    expect(await mine.replace(fileOf("make c"), last.version)).toBe(true);
    expect(await theirs.replace(fileOf("make c"), last.version)).toBe(false);
  });

  it("rejects when the database is gone", async () => {
    const store = await open();
    await store[Symbol.asyncDispose]();
    await expect(store.shared.approvals.read()).rejects.toMatchObject({
      code: Code.Unavailable,
    });
    await expect(
      store.shared.approvals.replace(fileOf("make a"), "0"),
    ).rejects.toMatchObject({
      code: Code.Unavailable,
    });
  });
});

function fileOf(command: string): PolicyFile {
  return create(PolicyFileSchema, {
    rule: [{ commandPrefix: [command], decision: RuleDecision.ALLOW }],
  });
}
