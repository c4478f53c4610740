import { expect, it } from "vitest";
import { Code } from "../errors.ts";
import type {
  SharedStore,
  SharedStoreGround,
} from "./shared-store.contract.ts";
import { created, eventsOf, text } from "./task-events.ts";

/** Tests the contract of `TaskLeases`, and that appends respect it. */
export function testTaskLeases<Store extends SharedStore>(
  make: () => SharedStoreGround<Store>,
): void {
  testHolders(make);
  testOrphans(make);
  testLostLeases(make);
}

function testHolders<Store extends SharedStore>(
  make: () => SharedStoreGround<Store>,
): void {
  it("give a task to one server at a time", async () => {
    const ground = make();
    await using one = await ground.open();
    await using other = await ground.open();
    const lease = await one.shared.leases.create("t1");
    await one.append({ events: [created("t1")], fence: lease.fence });
    expect(await lease.isCurrent()).toBe(true);
    expect(await other.shared.leases.acquire("t1")).toBeUndefined();
    await lease.release();
    expect(await one.shared.leases.orphaned()).toEqual(["t1"]);
    const next = await other.shared.leases.acquire("t1");
    expect(next?.fence).toBe(lease.fence + 1n);
    expect(await lease.isCurrent()).toBe(false);
    expect(await one.shared.leases.acquire("t1")).toBeUndefined();
    expect(await one.shared.leases.acquire("unknown")).toBeUndefined();
  });

  it("give a task to one of many servers that want it at once", async () => {
    const ground = make();
    await using one = await ground.open();
    await using other = await ground.open();
    for (let round = 0; round < 50; round++) {
      await one.append({ events: [created(`t${round}`)] });
      const [mine, theirs] = await Promise.all([
        one.shared.leases.acquire(`t${round}`),
        other.shared.leases.acquire(`t${round}`),
      ]);
      expect(
        [mine, theirs].filter((lease) => lease !== undefined),
      ).toHaveLength(1);
    }
  });

  it("tell whether another server decides by something else", async () => {
    const ground = make();
    await using one = await ground.open();
    await using other = await ground.open();
    expect(await one.shared.leases.announce("a")).toBe(false);
    expect(await other.shared.leases.announce("a")).toBe(false);
    expect(await other.shared.leases.announce("b")).toBe(true);
  });
}

function testOrphans<Store extends SharedStore>(
  make: () => SharedStoreGround<Store>,
): void {
  it("list all orphans in the end, without those that are said to fail", async () => {
    const ground = make();
    await using one = await ground.open();
    const ids = Array.from({ length: 300 }, (_, index) => `t${index}`);
    await Promise.all(ids.map((id) => one.append({ events: [created(id)] })));
    const found: string[] = [];
    for (;;) {
      const more = await one.shared.leases.orphaned([], found);
      if (more.length === 0) break;
      found.push(...more);
    }
    expect(found.toSorted()).toEqual(ids.toSorted());
  });

  it("are left to others at once by a server that gives them up, or closes", async () => {
    const ground = make();
    await using other = await ground.open();
    {
      await using one = await ground.open();
      const { fence, lost } = await one.shared.leases.create("t1");
      await one.append({ events: [created("t1")], fence });
      await one.shared.leases.giveUp();
      expect(lost.aborted).toBe(true);
      await expect(one.shared.leases.acquire("t1")).rejects.toMatchObject({
        code: Code.Unavailable,
      });
    }
    {
      await using two = await ground.open();
      expect(await two.shared.leases.orphaned()).toEqual(["t1"]);
      expect((await two.shared.leases.acquire("t1"))?.fence).toBe(2n);
    }
    expect((await other.shared.leases.acquire("t1"))?.fence).toBe(3n);
  });
}

function testLostLeases<Store extends SharedStore>(
  make: () => SharedStoreGround<Store>,
): void {
  it("refuse the appends of a server whose task another one has acquired, and of one without a lease", async () => {
    const ground = make();
    await using zombie = await ground.open();
    await using other = await ground.open();
    const lost = await zombie.shared.leases.create("t1");
    await zombie.append({ events: [created("t1")], fence: lost.fence });
    await ground.expire(zombie);
    expect(await other.shared.leases.orphaned()).toEqual(["t1"]);
    const lease = await other.shared.leases.acquire("t1");
    expect(await other.shared.leases.orphaned()).toEqual([]);
    for (const [store, fence] of [
      [zombie, lost.fence],
      [other, undefined],
    ] as const) {
      await expect(
        store.append({ events: [text("t1", 2n, "late")], fence }),
      ).rejects.toMatchObject({ code: Code.Aborted });
    }
    const mine = text("t1", 2n, "mine");
    await other.append({ events: [mine], fence: lease?.fence });
    expect((await eventsOf(other, "t1")).slice(1)).toEqual([mine]);
  });

  it("end when their server renews too late, which can acquire again", async () => {
    const ground = make();
    await using store = await ground.open();
    const lease = await store.shared.leases.create("t1");
    await store.append({ events: [created("t1")], fence: lease.fence });
    const lost = new Promise((resolve) => {
      lease.lost.addEventListener("abort", resolve);
    });
    await ground.expire(store);
    await lost;
    await lease.release();
    const again = await store.shared.leases.acquire("t1");
    expect([again?.fence, again?.lost.aborted]).toEqual([2n, false]);
  });
}
