import { describe, expect, it } from "vitest";
import { text } from "../testing/task-events.ts";
import { LogNews } from "./log-news.ts";

const events = (...sequences: bigint[]) =>
  sequences.map((sequence) => text("t1", sequence));

/** News of a reader that has read the store up to event 4. */
function newsAfter4(): LogNews {
  const news = new LogNews();
  news.take(4n);
  return news;
}

const taken = (news: LogNews) => news.take(4n)?.map(({ sequence }) => sequence);

describe("LogNews", () => {
  it("has the store read before anything was brought", () => {
    const news = new LogNews();
    news.put(events(1n));
    expect(news.take(0n)).toBeUndefined();
    expect(news.take(1n)).toEqual([]);
  });

  it.each([
    ["gives what follows", [events(5n), events(6n, 7n)], [5n, 6n, 7n]],
    ["leaves out what was read", [events(3n, 4n), events(5n)], [5n]],
    ["has the store read after a loss", [events(6n)], undefined],
    ["finds a loss in between", [events(5n), events(7n)], undefined],
    [
      "has the store read after a doubled one",
      [events(5n), events(5n)],
      undefined,
    ],
    [
      "has the store read what is only named",
      [events(5n), undefined],
      undefined,
    ],
  ] as const)("%s", (_what, brought, expected) => {
    const news = newsAfter4();
    for (const each of brought) news.put(each);
    expect(taken(news)).toEqual(expected);
  });

  it("keeps 64 events for a slow reader, which reads the others itself", () => {
    const news = newsAfter4();
    for (let at = 5n; at < 69n; at++) news.put(events(at));
    expect(taken(news)).toHaveLength(64);
    for (let at = 5n; at < 70n; at++) news.put(events(at));
    expect(taken(news)).toBeUndefined();
  });
});
