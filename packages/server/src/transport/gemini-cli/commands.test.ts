import { CommandExecutionStatus } from "@devtool/schema";
import { describe, expect, it } from "vitest";
import {
  serveRoutes,
  servicesWith,
  silentHandler,
} from "../../../test/serve-routes.ts";
import { StreamLimit } from "../../handler/stream-limit.ts";
import { geminiCli } from "./gemini-cli.ts";

describe("POST /executeCommand", () => {
  it("counts a streamed command as an open stream of its caller until it ends (ERR-2)", async () => {
    const gone = Promise.withResolvers<void>();
    const result = { executionId: "t", status: CommandExecutionStatus.STARTED };
    const handler = {
      ...silentHandler(gone.resolve, {
        commands: {
          getAllSlashCommands: () => ({}),
          runSlashCommand: () => ({ result }),
        },
      }),
      streams: new StreamLimit(1),
    };
    const served = geminiCli()(servicesWith(handler));
    const routes = served.filter((each) => "matches" in each);
    await using server = await serveRoutes(routes);
    const leave = new AbortController();
    const run = (signal?: AbortSignal): Promise<Response> =>
      fetch(new URL("/executeCommand", server.url), {
        method: "POST",
        headers: {
          "content-type": "application/json",
          accept: "text/event-stream",
        },
        body: JSON.stringify({ command: "about" }),
        signal: signal ?? null,
      });
    const first = await run(leave.signal);
    expect(first.status).toBe(200);
    const second = await run();
    expect(second.status).toBe(429);
    expect(await second.text()).toContain("has 1 open: limit is 1");
    leave.abort();
    await gone.promise;
  });
});
