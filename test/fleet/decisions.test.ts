import { Code, ConnectError } from "@connectrpc/connect";
import {
  confirmationPart,
  pendingToolCalls,
  textMessage,
} from "@devtool/client";
import { OPTION_CANCEL, OPTION_PROCEED_ONCE } from "@devtool/schema";
import { expect, it } from "vitest";
import { roundsOf } from "../depth.ts";
import { asking } from "./agents.ts";
import { type Replica, startReplica } from "./replicas.ts";
import { describeWithPostgres } from "./with-postgres.ts";

const CALLS = roundsOf("DEVTOOL_DECISIONS", {
  quick: 60,
  ci: 100,
  deep: 10_000,
});
const AT_ONCE = 20;

/**
 * The error with which a server refused a decision; undefined when it accepted
 * the decision.
 */
interface Said {
  readonly option: string;
  readonly error: ConnectError | undefined;
}

describeWithPostgres(
  "opposite decisions at two servers at once (R7)",
  (database) => {
    it("have one winner for each call, and the loser is told which", {
      timeout: 180_000 + CALLS * 200,
    }, async () => {
      console.info(
        `${CALLS} calls are decided: DEVTOOL_DECISIONS sets another number`,
      );
      const runs: string[] = [];
      await using one = await startReplica(
        database.url,
        "decisions",
        asking(runs),
      );
      await using other = await startReplica(
        database.url,
        "decisions",
        asking(runs),
      );
      await using third = await startReplica(
        database.url,
        "decisions",
        asking(runs),
      );
      const owners = [one, other, third];
      const approved: string[] = [];
      for (let begun = 0; begun < CALLS; begun += AT_ONCE) {
        const rounds = Array.from(
          { length: Math.min(AT_ONCE, CALLS - begun) },
          (_, at) =>
            decideTwice(owners[at % owners.length] ?? one, [one, other], at),
        );
        for (const { taskId, said } of await Promise.all(rounds)) {
          const [winner, ...rest] = said.filter(
            ({ error }) => error === undefined,
          );
          const [loser] = said.filter(({ error }) => error !== undefined);
          expect(rest).toEqual([]);
          expect(loser?.error?.code).toBe(Code.FailedPrecondition);
          expect(loser?.error?.message).toContain(
            `was already answered with "${winner?.option}"`,
          );
          if (winner?.option === OPTION_PROCEED_ONCE) approved.push(taskId);
        }
      }
      expect(runs.toSorted()).toEqual(approved.toSorted());
      console.info(`${approved.length} of ${CALLS} calls were approved`);
      expect([...one.errors, ...other.errors, ...third.errors]).toEqual([]);
    });
  },
);

/**
 * Starts a task at a server, and decides about its call at two at once: every
 * other time approved at the first.
 */
async function decideTwice(
  owner: Replica,
  [one, other]: readonly [Replica, Replica],
  at: number,
): Promise<{ taskId: string; said: Said[] }> {
  const { task } = await owner.client.tasks.sendMessage({
    message: textMessage(crypto.randomUUID(), "go"),
  });
  const [call] = task ? pendingToolCalls(task) : [];
  if (!task || !call) throw new Error("nothing is asked");
  const options = [OPTION_PROCEED_ONCE, OPTION_CANCEL];
  const [here = "", there = ""] = at % 2 === 0 ? options : options.toReversed();
  const decide = async ({ client }: Replica, option: string): Promise<Said> => {
    const message = {
      ...textMessage(crypto.randomUUID(), ""),
      parts: [confirmationPart(call, option)],
    };
    const error = await client.tasks
      .sendMessage({ message, taskId: task.id })
      .then(
        () => undefined,
        (reason: unknown) => ConnectError.from(reason),
      );
    return { option, error };
  };
  return {
    taskId: task.id,
    said: await Promise.all([decide(one, here), decide(other, there)]),
  };
}
