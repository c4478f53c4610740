import { create, type MessageInitShape } from "@bufbuild/protobuf";
import { type Message, MessageSchema, type PartSchema, Role } from "@devtool/schema";
import fc from "fast-check";
import { describe, expect, it } from "vitest";
import { modelHistory } from "./history.ts";
import { withoutQuestions } from "./questions.ts";
import { ToldConversations, ToldHistory } from "./told-history.ts";

type Part = MessageInitShape<typeof PartSchema>;

describe("what a model is told, kept from step to step", () => {
  it("is what it would be if it were made anew, whatever was added and whatever changed in the last step", () => {
    fc.assert(
      fc.property(fc.array(change, { maxLength: 40 }), (changes) => {
        const told = new ToldHistory();
        let history: Message[] = [];
        for (const [index, made] of changes.entries()) {
          history = made(history, `${index}`);
          const all = withoutQuestions(history);
          expect(told.of(history)).toEqual({ all, recent: modelHistory(all) });
        }
      }),
    );
  });

  it("is that of another conversation when that is asked for", () => {
    const told = new ToldHistory();
    told.of([user("a"), agent("b"), user("c"), agent("d")]);
    const other = [user("e"), agent("f"), user("g"), agent("h")];
    expect(told.of(other).all).toEqual(other);
  });

  it("looks at no message that stands before the agent's last step", () => {
    const told = new ToldHistory();
    let looks = 0;
    const history = Array.from({ length: 200 }, (_, index) =>
      watched(index % 2 === 0 ? user(`${index}`) : agent(`${index}`), () => looks++),
    );
    told.of(history);
    looks = 0;
    told.of([...history, user("new")]);
    expect(looks).toBeLessThan(20);
  });
});

describe("what models are told of the conversations before tasks (STREAM-5)", () => {
  it("is looked at once, and not again for each next task of a conversation", () => {
    const conversations = new ToldConversations();
    let looks = 0;
    const look = (): number => looks++;
    const before = Array.from({ length: 200 }, (_, index) =>
      watched(index % 2 === 0 ? user(`${index}`) : agent(`${index}`), look),
    );
    conversations.after(before).of([...before, user("first")]);
    looks = 0;
    const longer = [...before, watched(user("first"), look), watched(agent("answer"), look)];
    const next = [...longer, user("second")];
    expect(conversations.after(longer).of(next).all).toEqual(next);
    expect(looks).toBeLessThan(40);
  });

  it("is that of each task, where two go on from the same one", () => {
    const conversations = new ToldConversations();
    const before = [user("a"), agent("b"), user("c"), agent("d")];
    const one = conversations.after(before);
    const other = conversations.after(before);
    const longer = [...before, user("e"), agent("f"), user("g")];
    expect(one.of(longer).all).toEqual(longer);
    const aside = [...before, user("h"), agent("i"), user("j")];
    expect(other.of(aside).all).toEqual(aside);
    const elsewhere = [before[0] ?? user("a"), agent("k"), user("l"), agent("m")];
    expect(conversations.after(elsewhere).of(elsewhere).all).toEqual(elsewhere);
    expect(new ToldConversations().after([]).of(before).all).toEqual(before);
  });
});

const change = fc.constantFrom<(history: Message[], id: string) => Message[]>(
  (history, id) => [...history, user(id)],
  (history, id) => [...history, agent(id)],
  (history, id) => [...history, agent(id, { content: { case: "summary", value: { text: "notes", keptMessages: 2 } } })],
  (history, id) => [...history, agent(id, question(id))],
  (history, id) => [...history, user(id, { content: { case: "confirmation", value: { toolCallId: id } } })],
  (history) => history.map((message, index) => (index === history.length - 1 ? { ...message } : message)),
);

function user(messageId: string, ...parts: Part[]): Message {
  return said(Role.USER, messageId, parts);
}

function agent(messageId: string, ...parts: Part[]): Message {
  return said(Role.AGENT, messageId, parts);
}

function said(role: Role, messageId: string, parts: Part[]): Message {
  const words: Part = { content: { case: "text", value: "words" } };
  return create(MessageSchema, { messageId, role, parts: parts.length > 0 ? parts : [words] });
}

function question(toolCallId: string): Part {
  return { content: { case: "toolCall", value: { toolCallId } }, toolCallDetail: { parentToolCallId: "parent" } };
}

/** A message that says so when somebody looks at its parts. */
function watched(message: Message, onLook: () => void): Message {
  const { parts } = message;
  return Object.defineProperty(message, "parts", {
    enumerable: true,
    get: () => {
      onLook();
      return parts;
    },
  });
}
