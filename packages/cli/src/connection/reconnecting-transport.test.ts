import { create } from "@bufbuild/protobuf";
import { createRouterTransport } from "@connectrpc/connect";
import { createDevtoolClient } from "@devtool/client";
import { TaskService } from "@devtool/schema";
import { ServerInfoSchema } from "@devtool/schema/operator";
import { describe, expect, it } from "vitest";
import type { Address } from "./address.ts";
import { ReconnectingTransport } from "./reconnecting-transport.ts";
import { UnprovenServerError } from "./server-identity.ts";

describe("a transport that follows its server", () => {
  it("says each time that it waits, also after it has given up", async () => {
    const said: string[] = [];
    const transport = createRouterTransport(() => undefined);
    const first = {
      address: { url: "http://127.0.0.1:1", token: "t" },
      transport,
    };
    const { tasks } = createDevtoolClient(
      new ReconnectingTransport(first, {
        find: () => Promise.resolve(undefined),
        open: () => Promise.resolve(transport),
        notify: (text) => said.push(text),
        maxWaitMs: 1,
      }),
    );
    for (let call = 1; call <= 2; call++) {
      await expect(tasks.getTask({ taskId: "t1" })).rejects.toThrow(
        "no server came back within",
      );
      expect(said).toHaveLength(call);
      expect(said.at(-1)).toBe(
        "the server at http://127.0.0.1:1 is gone: waiting for it to start again",
      );
    }
  });

  it("waits on while another program has its port, and says so once", async () => {
    const foreign = (): Promise<Address> =>
      Promise.reject(new UnprovenServerError("another program listens"));
    const { tasks, said } = following([
      foreign,
      foreign,
      () => Promise.resolve(undefined),
      foreign,
      running,
    ]);
    expect((await tasks.getTask({ taskId: "t1" })).task?.id).toBe("t1");
    expect(said).toEqual([
      "another program listens: waiting for it to start again",
      "reconnected to http://127.0.0.1:2",
    ]);
  });

  it("takes the server for gone from the first call that waits until one finds it", async () => {
    const canceling = new AbortController();
    const gone = (): Promise<undefined> => Promise.resolve(undefined);
    const { tasks, transport } = following([gone, gone, running], {
      onSaid: () => canceling.abort(),
    });
    const states = [transport.isServerGone];
    await expect(
      tasks.getTask({ taskId: "t1" }, { signal: canceling.signal }),
    ).rejects.toThrow("canceled");
    states.push(transport.isServerGone);
    await tasks.getTask({ taskId: "t1" });
    expect([...states, transport.isServerGone]).toEqual([false, true, false]);
  });

  it("says in the end what had its port", async () => {
    const foreign = (): Promise<Address> =>
      Promise.reject(new UnprovenServerError("another program listens"));
    const { tasks } = following([foreign, foreign], { maxWaitMs: 1 });
    await expect(tasks.getTask({ taskId: "t1" })).rejects.toThrow(
      "no server came back within 0.001 seconds: another program listens",
    );
  });

  it("fails at once when the look itself fails", async () => {
    const { tasks, said } = following([
      () => Promise.reject(new Error("the directory is open to other users")),
    ]);
    await expect(tasks.getTask({ taskId: "t1" })).rejects.toThrow(
      "the directory is open to other users",
    );
    expect(said).toEqual([]);
  });

  it("ends a look that takes long when the call is canceled", async () => {
    const canceling = new AbortController();
    const { tasks } = following([
      (signal) =>
        new Promise((_resolve, reject) => {
          signal.addEventListener("abort", () => reject(signal.reason));
          canceling.abort();
        }),
    ]);
    await expect(
      tasks.getTask({ taskId: "t1" }, { signal: canceling.signal }),
    ).rejects.toThrow("canceled");
  });

  const running = (): Promise<Address> => Promise.resolve(addressAt(2));

  /**
   * A client of a server that was found once; further looks give what is
   * listed, one by one.
   */
  function following(
    looks: readonly ((signal: AbortSignal) => Promise<Address | undefined>)[],
    { maxWaitMs = 60_000, onSaid = (): void => undefined } = {},
  ) {
    const said: string[] = [];
    const notify = (text: string): void => {
      said.push(text);
      onSaid();
    };
    const next = looks.values();
    const running = createRouterTransport(({ service }) =>
      service(TaskService, {
        getTask: ({ taskId }) => ({ task: { id: taskId } }),
      }),
    );
    const first = {
      address: addressAt(1),
      transport: createRouterTransport(() => undefined),
    };
    const find = (signal: AbortSignal): Promise<Address | undefined> => {
      const look = next.next();
      if (look.done) throw new Error("looked more often than the test says");
      return look.value(signal);
    };
    const open = () => Promise.resolve(running);
    const transport = new ReconnectingTransport(first, {
      find,
      open,
      notify,
      maxWaitMs,
    });
    return { tasks: createDevtoolClient(transport).tasks, transport, said };
  }

  function addressAt(port: number): Address {
    const url = `http://127.0.0.1:${port}`;
    return {
      url,
      token: "t",
      info: create(ServerInfoSchema, { url, proofKey: Buffer.alloc(32, port) }),
    };
  }
});
