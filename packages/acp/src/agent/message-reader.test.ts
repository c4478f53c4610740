import { unmarkLongIds } from "@devtool/internal/long-ids";
import { describe, expect, it } from "vitest";
import { readMessages } from "./message-reader.ts";

describe("the messages of an agent", () => {
  it("B6: keep the digits of numbers in the input and output of calls", async () => {
    const big = "9007199254740993";
    const line = `{"jsonrpc":"2.0","method":"session/update","params":{"used":${big},"update":{"rawInput":{"n":${big}},"rawOutput":[${big}]}}}\n`;
    async function* output(): AsyncIterable<Uint8Array> {
      yield Buffer.from(line);
    }
    const limits = { maxMessageBytes: 1000, maxMessagesPerSecond: 10 };
    const messages = readMessages(output(), {
      limits,
      nowMs: () => 0,
      onForeignLine: () => undefined,
    });
    expect((await messages.next()).value).toMatchObject({
      params: {
        used: Number(big),
        update: { rawInput: { n: big }, rawOutput: [big] },
      },
    });
  });

  it("I37: are read where several are on a line, or one on two", async () => {
    const text = (n: number) =>
      `{"method":"session/update","params":{"n":${n}}}`;
    const foreign: number[] = [];
    async function* output(): AsyncIterable<Uint8Array> {
      yield Buffer.from(`${text(1)}${text(2)} done ${text(3)}\n`);
      yield Buffer.from(`${text(4).replace(",", ",\n")}\n`);
      yield Buffer.from(
        '{"id":9007199254740993,"method":"ask"}{"id":1,"resu\n',
      );
    }
    const messages = readMessages(output(), {
      limits: { maxMessageBytes: 1000, maxMessagesPerSecond: 100 },
      nowMs: () => 0,
      onForeignLine: () => void foreign.push(1),
    });
    const read = await Array.fromAsync(messages);
    expect(read).toMatchObject([
      { params: { n: 1 } },
      { params: { n: 2 } },
      { params: { n: 3 } },
      { params: { n: 4 } },
      { method: "ask" },
      { id: 1, error: { message: expect.stringContaining("is not JSON") } },
    ]);
    expect(unmarkLongIds(JSON.stringify(read[4]))).toContain(
      '"id":9007199254740993',
    );
    expect(foreign).toEqual([]);
  });

  it.each([
    ['{"jsonrpc":"2.0","id":7,"result":{"stopReason":', 7],
    ['{"result":{NaN},"id":"a"}', "a"],
  ])("K8: end the request that %s answers", async (line, id) => {
    async function* output(): AsyncIterable<Uint8Array> {
      yield Buffer.from(`{"id":8,"method":"x",\n${line}\n`);
    }
    const messages = readMessages(output(), {
      limits: { maxMessageBytes: 1000, maxMessagesPerSecond: 10 },
      nowMs: () => 0,
      onForeignLine: () => undefined,
    });
    expect(await Array.fromAsync(messages)).toMatchObject([
      { id, error: { message: expect.stringContaining("it is not JSON") } },
    ]);
  });
});
