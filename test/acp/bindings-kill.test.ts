import { mkdirSync } from "node:fs";
import { join } from "node:path";
import { fakeAgentCommand } from "@devtool/acp/testing";
import { fileText } from "@devtool/internal/testing/files";
import { temporaryDirectory } from "@devtool/internal/testing/temporary-directory";
import {
  OPTION_CANCEL,
  OPTION_PROCEED_ONCE,
  TaskState,
  ToolCallStatus,
} from "@devtool/schema";
import { afterEach, beforeEach, describe, expect, it } from "vitest";
import { LEFT_TO_CI, variantsOf } from "../depth.ts";
import {
  type ServerProcess,
  startServing,
} from "../durability/crash/server-process.ts";
import { BINDINGS } from "./bindings.ts";
import { Conversation, type Exchange } from "./conversation.ts";
import { killChildrenOf } from "./processes.ts";

const LIMIT_MS = 60_000;

describe.skipIf(LEFT_TO_CI !== "")(
  `a question of an ACP agent, over each binding of the port${LEFT_TO_CI}`,
  () => {
    let base: string;
    let server: ServerProcess;
    beforeEach(async () => {
      base = temporaryDirectory();
      for (const name of ["workspace", "sessions"]) mkdirSync(join(base, name));
      server = await serve();
    });
    afterEach(() => server.kill());

    const bindings = Object.entries(BINDINGS);
    it.each(variantsOf("bindings", bindings, 1))(
      "is answered once after kill -9 of the agent and of the server, over %s",
      async (_name, connect) => {
        const conversation = (contextId = ""): Conversation => {
          const { url, token } = server.info;
          return new Conversation(connect({ url, token }), contextId);
        };
        const first = conversation();
        const asked = await first.say(
          "say before\njob done.txt\nsay after",
          signal(),
        );
        expect(asked.task.state).toBe(TaskState.INPUT_REQUIRED);
        await killChildrenOf(server.info.pid);
        await server.kill();
        server = await serve();
        const ended = await conversation(first.contextId).answer(
          asked,
          OPTION_PROCEED_ONCE,
          signal(),
        );
        const { state } = ended.events.at(-1) ?? {};
        expect([state, statusOf(ended), ran()]).toEqual([
          TaskState.COMPLETED,
          ToolCallStatus.SUCCEEDED,
          1,
        ]);

        const again = await conversation(first.contextId).say(
          "job other.txt",
          signal(),
        );
        await server.kill();
        server = await serve();
        const declined = await conversation(first.contextId).answer(
          again,
          OPTION_CANCEL,
          signal(),
        );
        expect([statusOf(declined), ran()]).toEqual([
          ToolCallStatus.CANCELLED,
          1,
        ]);
      },
    );

    function serve(): Promise<ServerProcess> {
      const { command, args = [] } = fakeAgentCommand(
        "--state",
        join(base, "sessions"),
      );
      const agent = `fake=acp:${[command, ...args].map((word) => `'${word}'`).join(" ")}`;
      const flags = [
        "--agent",
        agent,
        "--data",
        join(base, "data"),
        "--workspace",
        join(base, "workspace"),
      ];
      return startServing(flags);
    }

    /** How often the job was done. */
    function ran(): number {
      return fileText(base, "workspace/done.txt").trim().split("\n").length;
    }
  },
);

function statusOf({ events }: Exchange): ToolCallStatus | undefined {
  const calls = events.flatMap(({ payload }) =>
    payload.case === "toolCall" ? [payload.value] : [],
  );
  return calls.at(-1)?.status;
}

function signal(): AbortSignal {
  return AbortSignal.timeout(LIMIT_MS);
}
