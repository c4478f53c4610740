import { existsSync } from "node:fs";
import { writeFile } from "node:fs/promises";
import { join } from "node:path";
import {
  confirmationPart,
  pendingToolCalls,
  textMessage,
} from "@devtool/client";
import { codingAgent } from "@devtool/coding-agent";
import { temporaryDirectory } from "@devtool/internal/testing/temporary-directory";
import { OPTION_PROCEED_ONCE, TaskState, toolCallsOf } from "@devtool/schema";
import { expect, it } from "vitest";
import { createIssuer, type Issuer } from "../auth/issuer.ts";
import { clientOf } from "../client-of.ts";
import { type Replica, startReplicaOf } from "./replicas.ts";
import { describeWithPostgres } from "./with-postgres.ts";

const RULES = `
[[rule]]
command_prefix = "touch"
decision = "deny"
deny_message = "guests touch nothing"
role = "guests"
priority = 10

[[rule]]
command_prefix = "touch"
decision = "allow"
role = "ops"
`;

describeWithPostgres("rules about roles, on servers that share tasks", (db) => {
  it("decide by the sender that another server let in, and after it is gone", async () => {
    const base = temporaryDirectory();
    const policy = join(base, "rules.toml");
    await writeFile(policy, RULES);
    const issuer = await createIssuer();
    const start = (policyFiles: readonly string[]): Promise<Replica> =>
      startReplicaOf(db.url, "roles", codingAgent({ policyFiles }), {
        workspace: base,
        authentication: { jwt: { ...issuer.options, rolesClaim: "groups" } },
      });
    const owner = await start([]);
    await using other = await start([policy]);
    const guest = await clientAt(owner, issuer, "guests");
    const { task } = await guest.tasks.sendMessage({
      message: textMessage("m1", "run touch waited"),
    });
    expect(task?.state).toBe(TaskState.INPUT_REQUIRED);
    // The task goes to another server, whose rules deny it to guests. Ada
    // answers with the roles that would be allowed to.
    await owner.server.close();
    const ops = await clientAt(other, issuer, "ops");
    const [call] = task ? pendingToolCalls(task) : [];
    const parts = call ? [confirmationPart(call, OPTION_PROCEED_ONCE)] : [];
    const taskId = task?.id ?? "";
    await ops.tasks
      .sendMessage({ taskId, message: { messageId: "m2", parts } })
      .catch(() => undefined);
    const last = async () => {
      const { task: now } = await ops.tasks.getTask({ taskId });
      return now?.history.flatMap(toolCallsOf).at(-1)?.result;
    };
    await expect.poll(last, { timeout: 30_000 }).toMatchObject({
      value: { message: expect.stringContaining("guests touch nothing") },
    });
    expect(existsSync(join(base, "waited"))).toBe(false);
    // A message that comes to a third server brings its sender's roles to the
    // one that has the task.
    await using third = await start([policy]);
    const passed = await clientAt(third, issuer, "ops");
    await passed.tasks.sendMessage({
      taskId,
      message: textMessage("m3", "run touch allowed"),
    });
    expect(existsSync(join(base, "allowed"))).toBe(true);
  });
});

async function clientAt(
  { server: { url } }: Replica,
  issuer: Issuer,
  ...groups: string[]
) {
  const token = await issuer.tokenFor("ada", undefined, { groups });
  return clientOf({ url, token });
}
