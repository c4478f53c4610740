import { create, type MessageInitShape } from "@bufbuild/protobuf";
import {
  type Message,
  MessageSchema,
  type PartSchema,
  Role,
} from "@devtool/schema";
import fc from "fast-check";
import { describe, expect, it } from "vitest";
import { modelHistory } from "./history.ts";
import { HistoryCache, IncrementalHistory } from "./incremental-history.ts";
import { withoutQuestions } from "./questions.ts";

type Part = MessageInitShape<typeof PartSchema>;

describe("IncrementalHistory", () => {
  it("equals a history that is prepared from scratch, after any sequence of changes", () => {
    fc.assert(
      fc.property(fc.array(change, { maxLength: 40 }), (changes) => {
        const prepared = new IncrementalHistory();
        let history: Message[] = [];
        for (const [index, made] of changes.entries()) {
          history = made(history, `${index}`);
          const all = withoutQuestions(history);
          expect(prepared.update(history)).toEqual({
            all,
            recent: modelHistory(all),
          });
        }
      }),
    );
  });

  it("starts over for another conversation", () => {
    const prepared = new IncrementalHistory();
    prepared.update([user("a"), agent("b"), user("c"), agent("d")]);
    const other = [user("e"), agent("f"), user("g"), agent("h")];
    expect(prepared.update(other).all).toEqual(other);
  });

  it("does not read messages before the agent's last step again", () => {
    const prepared = new IncrementalHistory();
    let reads = 0;
    const history = Array.from({ length: 200 }, (_, index) =>
      watched(
        index % 2 === 0 ? user(`${index}`) : agent(`${index}`),
        () => reads++,
      ),
    );
    prepared.update(history);
    reads = 0;
    prepared.update([...history, user("new")]);
    expect(reads).toBeLessThan(20);
  });
});

describe("HistoryCache (STREAM-5)", () => {
  it("reads the messages before a task once for all later tasks of the conversation", () => {
    const cache = new HistoryCache();
    let reads = 0;
    const count = (): number => reads++;
    const before = Array.from({ length: 200 }, (_, index) =>
      watched(index % 2 === 0 ? user(`${index}`) : agent(`${index}`), count),
    );
    cache.startAfter(before).update([...before, user("first")]);
    reads = 0;
    const longer = [
      ...before,
      watched(user("first"), count),
      watched(agent("answer"), count),
    ];
    const next = [...longer, user("second")];
    expect(cache.startAfter(longer).update(next).all).toEqual(next);
    expect(reads).toBeLessThan(40);
  });

  it("gives two tasks that continue the same conversation histories of their own", () => {
    const cache = new HistoryCache();
    const before = [user("a"), agent("b"), user("c"), agent("d")];
    const one = cache.startAfter(before);
    const other = cache.startAfter(before);
    const longer = [...before, user("e"), agent("f"), user("g")];
    expect(one.update(longer).all).toEqual(longer);
    const aside = [...before, user("h"), agent("i"), user("j")];
    expect(other.update(aside).all).toEqual(aside);
    const elsewhere = [
      before[0] ?? user("a"),
      agent("k"),
      user("l"),
      agent("m"),
    ];
    expect(cache.startAfter(elsewhere).update(elsewhere).all).toEqual(
      elsewhere,
    );
    expect(new HistoryCache().startAfter([]).update(before).all).toEqual(
      before,
    );
  });
});

const change = fc.constantFrom<(history: Message[], id: string) => Message[]>(
  (history, id) => [...history, user(id)],
  (history, id) => [...history, agent(id)],
  (history, id) => [
    ...history,
    agent(id, {
      content: { case: "summary", value: { text: "notes", keptMessages: 2 } },
    }),
  ],
  (history, id) => [...history, agent(id, question(id))],
  (history, id) => [
    ...history,
    user(id, { content: { case: "confirmation", value: { toolCallId: id } } }),
  ],
  (history) =>
    history.map((message, index) =>
      index === history.length - 1 ? { ...message } : message,
    ),
);

function user(messageId: string, ...parts: Part[]): Message {
  return message(Role.USER, messageId, parts);
}

function agent(messageId: string, ...parts: Part[]): Message {
  return message(Role.AGENT, messageId, parts);
}

function message(role: Role, messageId: string, parts: Part[]): Message {
  const words: Part = { content: { case: "text", value: "words" } };
  return create(MessageSchema, {
    messageId,
    role,
    parts: parts.length > 0 ? parts : [words],
  });
}

function question(toolCallId: string): Part {
  return {
    content: { case: "toolCall", value: { toolCallId } },
    toolCallDetail: { parentToolCallId: "parent" },
  };
}

/** A message that reports each access to its parts. */
function watched(message: Message, onRead: () => void): Message {
  const { parts } = message;
  return Object.defineProperty(message, "parts", {
    enumerable: true,
    get: () => {
      onRead();
      return parts;
    },
  });
}
