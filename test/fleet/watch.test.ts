import type { DevtoolClient } from "@devtool/client";
import { TaskState, type TaskSummary } from "@devtool/schema";
import { expect, it } from "vitest";
import { begin, followed, Gates, LIMIT_MS, speaking } from "./agents.ts";
import { startReplica } from "./replicas.ts";
import { describeWithPostgres } from "./with-postgres.ts";

describeWithPostgres("WatchTasks at a server of several", (database) => {
  it("shows the changes of tasks that another server runs, each once and in order, and no others", async () => {
    const words = new Gates(1);
    await using one = await startReplica(
      database.url,
      "watch",
      speaking(words),
    );
    await using other = await startReplica(
      database.url,
      "watch",
      speaking(new Gates(0)),
    );
    // More tasks than are looked at in one list. They do not change.
    for (let task = 0; task < 30; task++) {
      await followed(other, await begin(other, "old"));
    }
    const watched = changesOf(other.client);
    const snapshot = await watched.next();
    expect(snapshot.value).toHaveLength(2);
    const taskId = await begin(one, "go");
    const shown: TaskSummary[] = [];
    for await (const [task] of watched) {
      if (!task) continue;
      shown.push(task);
      if (shown.length === 1) words.open();
      if (task.lastEvent?.state === TaskState.COMPLETED) break;
    }
    expect(new Set(shown.map(({ id }) => id))).toEqual(new Set([taskId]));
    expect(shown.length).toBeGreaterThan(1);
    const sequences = shown.map(({ lastEvent }) => Number(lastEvent?.sequence));
    expect(sequences).toEqual(
      [...new Set(sequences)].toSorted((a, b) => a - b),
    );
    expect([...one.errors, ...other.errors]).toEqual([]);
  });
});

/** Yields the snapshot of two tasks, and then each change. */
async function* changesOf(
  client: DevtoolClient,
): AsyncGenerator<TaskSummary[]> {
  const signal = AbortSignal.timeout(LIMIT_MS);
  const snapshot: TaskSummary[] = [];
  let isComplete = false;
  for await (const { task, snapshotComplete } of client.tasks.watchTasks(
    { snapshotSize: 2 },
    { signal },
  )) {
    if (isComplete) {
      yield task ? [task] : [];
    } else if (task) {
      snapshot.push(task);
    }
    if (snapshotComplete && !isComplete) yield snapshot;
    isComplete ||= snapshotComplete;
  }
}
