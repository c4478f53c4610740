import { appendFile, chmod, readFile, stat, writeFile } from "node:fs/promises";
import { join } from "node:path";
import { temporaryDirectory } from "@devtool/internal/testing/temporary-directory";
import { beforeAll, describe, expect, it } from "vitest";
import { readInputHistory, searchHistory } from "./input-history.ts";

describe("the history of messages", () => {
  let root: string;

  beforeAll(() => {
    root = temporaryDirectory();
  });

  it("is there in the next chat, with the line breaks of messages", async () => {
    const path = join(root, "kept/chat-history.jsonl");
    const first = await readInputHistory(path);
    expect(first.messages).toEqual([]);
    await first.add("one\ntwo");
    await first.add('"quoted" \u2028');
    const second = await readInputHistory(path);
    expect(second.messages).toEqual(["one\ntwo", '"quoted" \u2028']);
    expect((await stat(path)).mode & 0o777).toBe(0o600);
    expect((await stat(join(root, "kept"))).mode & 0o777).toBe(0o700);
  });

  it("keeps the same message once in a row, and no empty one", async () => {
    const path = join(root, "once.jsonl");
    const history = await readInputHistory(path);
    for (const message of ["a", "a", "", "b", "a"]) await history.add(message);
    expect((await readInputHistory(path)).messages).toEqual(["a", "b", "a"]);
    expect(history.messages).toEqual(["a", "b", "a"]);
  });

  it("leaves out what is not a message, such as a line that was cut", async () => {
    const path = join(root, "damaged.jsonl");
    await writeFile(path, '"whole"\n{"a":1}\n12\n\nnot JSON\n"cut', {
      mode: 0o600,
    });
    expect((await readInputHistory(path)).messages).toEqual(["whole"]);
  });

  it("loses no message that is added behind a line that was cut", async () => {
    const path = join(root, "cut.jsonl");
    await writeFile(path, '"whole"\n"cut', { mode: 0o600 });
    await (await readInputHistory(path)).add("after");
    expect((await readInputHistory(path)).messages).toEqual(["whole", "after"]);
  });

  it("keeps the messages of two chats at once", async () => {
    const path = join(root, "two.jsonl");
    const [one, other] = [
      await readInputHistory(path),
      await readInputHistory(path),
    ];
    await one.add("from one");
    await other.add("from the other");
    expect((await readInputHistory(path)).messages).toEqual([
      "from one",
      "from the other",
    ]);
  });

  it("is cut to the newest 1000 messages when there are more than 2000", async () => {
    const path = join(root, "long.jsonl");
    const lines = Array.from({ length: 2001 }, (_, index) => `"${index}"\n`);
    await writeFile(path, lines.slice(0, 2000).join(""), { mode: 0o600 });
    expect((await readInputHistory(path)).messages).toHaveLength(2000);
    await appendFile(path, lines.slice(2000).join(""));
    const { messages } = await readInputHistory(path);
    expect([messages.length, messages[0], messages.at(-1)]).toEqual([
      1000,
      "1001",
      "2000",
    ]);
    expect((await readFile(path, "utf8")).split("\n")).toHaveLength(1001);
    expect((await stat(path)).mode & 0o777).toBe(0o600);
  });

  it("is refused when others can read it", async () => {
    const path = join(root, "open.jsonl");
    await writeFile(path, '"secret"\n');
    await chmod(path, 0o644);
    await expect(readInputHistory(path)).rejects.toThrow(
      `file "${path}" is open to other users: chmod 600 ${path}`,
    );
  });
});

describe("a search in the history", () => {
  const messages = ["fix the test", "review", "fix the bug"];

  it.each([
    ["finds the newest message", "fix", 9, 2],
    ["goes on with an older one", "fix", 1, 0],
    ["finds one at the position itself", "review", 1, 1],
    ["finds none", "deploy", 9, -1],
    ["takes no text for a pattern", "f.x", 9, -1],
  ])("%s", (_name, text, from, found) => {
    expect(searchHistory(messages, text, from)).toBe(found);
  });
});
