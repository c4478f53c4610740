import { createRouterTransport } from "@connectrpc/connect";
import { createDevtoolClient } from "@devtool/client";
import { describe, expect, it } from "vitest";
import { ReconnectingTransport } from "./reconnecting-transport.ts";

describe("a transport that follows its server", () => {
  it("says each time that it waits, also after it has given up", async () => {
    const said: string[] = [];
    const transport = createRouterTransport(() => undefined);
    const first = { address: { url: "http://127.0.0.1:1", token: "t" }, transport };
    const { tasks } = createDevtoolClient(
      new ReconnectingTransport(first, {
        find: () => Promise.resolve(undefined),
        open: () => Promise.resolve(transport),
        notify: (text) => said.push(text),
        maxWaitMs: 1,
      }),
    );
    for (let call = 1; call <= 2; call++) {
      await expect(tasks.getTask({ taskId: "t1" })).rejects.toThrow("no server came back within");
      expect(said).toHaveLength(call);
      expect(said.at(-1)).toBe("the server at http://127.0.0.1:1 is gone: waiting for it to start again");
    }
  });
});
