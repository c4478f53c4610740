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
