import { once } from "node:events";
import { createServer } from "node:http";
import { connectNodeAdapter } from "@connectrpc/connect-node";
import { TaskService } from "@devtool/schema";
import { describe, expect, it } from "vitest";
import { FakeTerminal } from "../test/fake-terminal.ts";
import { runProgram } from "./program.ts";

describe("the beginning of an id", () => {
  it.each([
    [["run", "--task", "abcd", "text More."]],
    [["watch", "abcd"]],
    [["rename", "abcd", "Other"]],
    [["cancel", "abcd"]],
  ])(
    "is not looked for any longer after Ctrl-C: %j",
    async ([command = "", ...rest]) => {
      const asked = Promise.withResolvers<void>();
      await using server = await serveSlowly(asked.resolve);
      const terminal = new FakeTerminal();
      const code = runProgram(
        [command, "--url", server.url, "--token", "token", ...rest],
        terminal.io,
      );
      await asked.promise;
      terminal.interrupt();
      expect(await code).toBe(130);
    },
  );
});

/** A server whose lists do not come before the client gives up. */
async function serveSlowly(
  onList: () => void,
): Promise<AsyncDisposable & { readonly url: string }> {
  const adapter = connectNodeAdapter({
    routes: ({ service }) =>
      service(TaskService, {
        async listTasks(_request, { signal }) {
          onList();
          await once(signal, "abort");
          return {};
        },
      }),
  });
  const server = createServer(adapter).listen(0, "127.0.0.1");
  await once(server, "listening");
  const address = server.address();
  const port = typeof address === "object" && address ? address.port : 0;
  return {
    url: `http://127.0.0.1:${port}`,
    [Symbol.asyncDispose]: async () => {
      server.closeAllConnections();
      server.close();
    },
  };
}
