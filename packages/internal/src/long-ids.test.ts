import { describe, expect, it } from "vitest";
import { markLongIds, unmarkLongIds } from "./long-ids.ts";

describe("long ids", () => {
  it.each([
    '{"jsonrpc":"2.0","id":9007199254740993,"method":"m"}',
    '{"method":"m","params":{"id":1,"a":[{}]},"id":-9007199254740993}',
    '{"id":123456789012345678901234567890,"method":"m"}',
    '{"id":1e400,"method":"m"}',
    '{"id":9007199254740993.5,"method":"m"}',
    '{"method":"cancel","params":{"requestId":9007199254740993}}',
    '[{"id":9007199254740993,"method":"m"},{"id":9007199254740995,"method":"m"}]',
  ])("I37: come back with the digits of %s", (text) => {
    const read = JSON.parse(markLongIds(text));
    expect(unmarkLongIds(JSON.stringify(read))).toBe(text);
  });

  it.each([
    '{"id":9007199254740992,"method":"m"}',
    '{"id":"9007199254740993","method":"m"}',
    '{"id":1,"result":{"id":9007199254740993}}',
    '{"method":"m","params":{"text":"\\"id\\":9007199254740993"}}',
    '[[{"id":9007199254740993}]]',
  ])("are the only ones that are marked: %s", (text) => {
    expect(markLongIds(text)).toBe(text);
  });
});
