import { PassThrough } from "node:stream";
import { Code, ConnectError, createRouterTransport } from "@connectrpc/connect";
import { createDevtoolClient } from "@devtool/client";
import { TaskService } from "@devtool/schema";
import { expect, it } from "vitest";
import { cancelInterrupted } from "./interrupted-task.ts";

it.each([
  {
    error: new ConnectError("task t1 has ended", Code.FailedPrecondition),
    problem: "task t1 has ended",
  },
  {
    error: new ConnectError("connect ECONNREFUSED", Code.Unavailable),
    problem: "the server does not answer",
  },
])("says why a task was not canceled: $problem", async ({ error, problem }) => {
  const client = createDevtoolClient(
    createRouterTransport(({ service }) => {
      service(TaskService, {
        cancelTask: () => {
          throw error;
        },
      });
    }),
  );
  const stderr = new PassThrough({ encoding: "utf8" });
  await cancelInterrupted(client, "t1", "go on", { stderr });
  expect(stderr.read()).toBe(`task t1 was not canceled: ${problem}\n`);
});
